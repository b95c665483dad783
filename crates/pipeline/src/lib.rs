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
//! | *callback* | a value told to a workflow of the operator's | `callbacks` |
//! | *claim* | one worker's right to process a delivery, for a while | |
//! | *bell* | the queue: it carries delivery ids and nothing else | |
//! | *key* | who may ask, and for what | `keys` |
//! | *lease* | one poller's right to ask a source, for a while | `polls` |
//!
//! Duplicates collapse three times, each time by a unique key in the database:
//! [`DeliveryKey`], [`MessageKey`], [`ArtifactKey`].
//!
//! This crate never does I/O and knows no database, broker, HTTP or mail format.
//! Read it in the order of the modules below.

mod clock;
mod id;

mod delivery;
mod inbox;
mod message;

mod artifact;
mod attempt;
mod callback;
mod consume;
mod token;

mod agents;
mod failure;
mod keys;
mod poll;
mod queue;
mod retention;
mod retry;
mod store;

mod digest;
mod meters;
mod probe;

pub use agents::{AttemptLog, InboxLog};
pub use artifact::{ArtifactKey, ArtifactKind, ArtifactView, NewArtifact, Seq, ServerKey, Verdict};
pub use attempt::{
    AttemptConsume, AttemptConsumed, AttemptOutcome, AttemptView, Ended, Miss, MissKind,
    NewAttempt, OpenAttempt, Opened, Resent, Rules, Status, Suit, Wanted,
};
pub use callback::{Callback, CallbackLog, DeadCallback, Told};
pub use clock::{Clock, SystemClock, Timestamp};
pub use consume::{ConsumeRequest, Consumed, ConsumerId, IdempotencyKey, Scope};
pub use delivery::{
    ContentDigest, DeliveryKey, NewDelivery, OnConflict, Recorded, SourceName, StoredDelivery,
};
pub use failure::{BuriedDelivery, Reason};
pub use id::{
    ArtifactId, AttemptId, CallbackId, ClaimToken, DeliveryId, IdError, MessageId, PollerId,
};
pub use inbox::{Expectation, InboxError, InboxId, InboxRules, InboxView, NewInbox};
pub use keys::{KeyLog, KeyView, LiveKey, NewKey, Permission};
pub use message::{MessageKey, NewMessage, Sender};
pub use meters::{Meters, OfSource, Outcome, What};
pub use poll::{Lease, Leased, LeftWaiting, PollLog, Polled, SilenceLog, Standing};
pub use probe::{Probe, ProbeError};
pub use queue::{Acknowledge, Bell, Doorbell, QueueError, Ring};
pub use retention::{Discarded, Keep, Reach, Retention, Waste};
pub use retry::{Backoff, Class};
pub use store::{
    AgentLog, Arrival, Backlog, Claim, Claimed, Completed, DeliveryLog, FailureLog, Finished,
    Processed, StoreError, WorkLog,
};
pub use token::{is_token_name, token_of};
