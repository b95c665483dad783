//! The vocabulary of Maillatch: its data types, their states, and the traits
//! (seams) between the crates. Read this crate first.
//!
//! These words have the same meaning in every crate:
//!
//! | word | meaning | table |
//! |---|---|---|
//! | *source* | a configured place that mail comes from, for example a provider's webhook | |
//! | *delivery* | one authentic post of a source, or one mail found by polling it | `deliveries` |
//! | *message* | one e-mail to one inbox | `messages` |
//! | *artifact* | what was found in a message: a code, a link, or nothing and the reason | `artifacts` |
//! | *consume* | the one use of an artifact: its value is given to one consumer | `consumes` |
//! | *inbox* | an address that an agent waits on | `inboxes` |
//! | *attempt* | one try of an agent to get one code or link | `attempts` |
//! | *request* | a call with an idempotency key: made twice, it is carried out once | `requests` |
//! | *callback* | a value sent to a URL of the operator instead of to the agent | `callbacks` |
//! | *claim* | one worker's right to process a delivery until its lease expires | |
//! | *lease* | a right that ends by itself at a set time: a claim has one, and a poller has one for its source | `polls` |
//! | *doorbell* | the queue: it carries delivery ids and nothing else. Losing it loses no data | |
//! | *intent* | what an action is for; the same intent is acted on once | |
//! | *send*, *guard* | one action, done here (a mail) or by the agent itself, at most once for its intent | `sends` |
//! | *thread* | the mails that one person and one inbox exchange about one thing | `threads` |
//! | *key* | an API key: names its consumer and says what that consumer may do | `keys` |
//!
//! Duplicates are dropped at three layers, each by a unique key in the database:
//! [`DeliveryKey`], [`MessageKey`], [`ArtifactKey`].
//!
//! This crate does no I/O and knows no database, broker, HTTP or mail format.

mod agents;
mod artifact;
mod attempt;
mod callback;
mod caller;
mod clock;
mod consume;
mod dead_letter;
mod delivery;
mod digest;
mod id;
mod inbox;
mod keys;
mod message;
mod meters;
mod poll;
mod probe;
mod queue;
mod reason;
mod reply;
mod request;
mod retention;
mod retry;
mod rule;
mod send;
mod server_key;
mod source;
mod store;
mod token;

// Everything public in a module is part of the vocabulary.
pub use agents::*;
pub use artifact::*;
pub use attempt::*;
pub use callback::*;
pub use caller::*;
pub use clock::*;
pub use consume::*;
pub use dead_letter::*;
pub use delivery::*;
pub use id::*;
pub use inbox::*;
pub use keys::*;
pub use message::*;
pub use meters::*;
pub use poll::*;
pub use probe::*;
pub use queue::*;
pub use reason::*;
pub use reply::*;
pub use request::*;
pub use retention::*;
pub use retry::*;
pub use rule::*;
pub use send::*;
pub use server_key::*;
pub use source::*;
pub use store::*;
pub use token::*;
