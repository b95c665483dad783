//! Processes a delivery after its sender was answered: claim it, decode it, read
//! its mails, extract, and write the result in one transaction. A delivery is
//! retried until that transaction commits or the delivery is dead-lettered.
//!
//! This crate never serves HTTP, never runs SQL and never talks to the broker. A
//! delivery that may have killed its worker is read alone, after its attempt is counted.
//!
//! `README.md` lists the files in reading order.

mod requeue;
mod run;
mod slot;
mod sweep;

mod give_back;
mod lease;
mod outcome;
mod own_mail;
mod process;
mod reading;
mod report;

mod batch;
mod decisions;
mod fetch;
mod finding;
mod handling;
mod judge;
mod minimize;
mod parser_threads;
mod read_mail;
mod recipients;
mod routing;
mod sender;

mod callback;
mod janitor;

mod deps;
mod failure;
mod settings;

pub use callback::{Callbacks, CallbacksError, Receiver};
pub use decisions::expected_code;
pub use deps::Deps;
pub use fetch::Fetcher;
pub use janitor::Janitor;
pub use outcome::DeliveryOutcome;
pub use parser_threads::ParserThreads;
pub use recipients::InboxPolicy;
pub use run::run;
pub use sender::{Dkim, DkimError};
pub use settings::{ReplySettings, Settings};
pub use sweep::{SweepOutcome, sweep, sweep_forever};
