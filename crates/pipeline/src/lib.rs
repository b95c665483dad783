//! What flows through Maillatch, in which states, and across which seams.
//!
//! The words, used everywhere with these meanings:
//!
//! | word | meaning | table |
//! |---|---|---|
//! | *source* | one configured place that mail comes from | |
//! | *delivery* | one authentic post (or one polled item) of a source | `deliveries` |
//! | *message* | one e-mail to one inbox | `messages` |
//! | *artifact* | what a message held: a code, a link, or nothing and why | `artifacts` |
//! | *consume* | the one use of an artifact | `consumes` |
//! | *inbox* | the address an agent waits on | `inboxes` |
//! | *attempt* | one try of an agent to get a code or a link | `attempts` |
//! | *request* | what an agent may ask for twice and gets once | `requests` |
//! | *callback* | a value told to a workflow of the operator's | `callbacks` |
//! | *claim* | one worker's right to process a delivery, for a while | |
//! | *bell* | the queue: it carries delivery ids and nothing else | |
//! | *key* | who may ask, and for what | `keys` |
//! | *lease* | one poller's right to ask a source, for a while | `polls` |
//!
//! Duplicates collapse three times, each time by a unique key in the database:
//! [`DeliveryKey`], [`MessageKey`], [`ArtifactKey`].
//!
//! This crate does no I/O and knows no database, broker, HTTP or mail format.

mod agents;
mod artifact;
mod attempt;
mod callback;
mod clock;
mod consume;
mod delivery;
mod digest;
mod failure;
mod id;
mod inbox;
mod keys;
mod message;
mod meters;
mod poll;
mod probe;
mod queue;
mod request;
mod retention;
mod retry;
mod store;
mod token;

// Whatever is public in a module is a word of the vocabulary.
pub use agents::*;
pub use artifact::*;
pub use attempt::*;
pub use callback::*;
pub use clock::*;
pub use consume::*;
pub use delivery::*;
pub use failure::*;
pub use id::*;
pub use inbox::*;
pub use keys::*;
pub use message::*;
pub use meters::*;
pub use poll::*;
pub use probe::*;
pub use queue::*;
pub use request::*;
pub use retention::*;
pub use retry::*;
pub use store::*;
pub use token::*;
