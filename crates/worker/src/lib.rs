//! What happens to a delivery after its sender was answered: it is claimed,
//! decoded, read, searched and finished, in one transaction, however often that
//! takes.
//!
//! This crate never serves HTTP, never speaks SQL, never knows the broker, and never does
//! anything with a mail's bytes before the attempt is counted in its row.
//!
//! Read it in this order: [`run`] (a bell rings), `process` (the story of one
//! delivery), `fetch` (mail that a webhook did not carry), `contain` (the dangerous
//! part, on a thread of its own), `letter` (one mail, all its inboxes), `address`,
//! `authenticity`, `dkim` and `coverage` (whether its sender is proven), `reading`, `judge`, `finding` and `minimize` (for whom it is and what is kept of
//! it), [`sweep`] (the bell rings again), `callback` (values that go to a
//! workflow), [`Janitor`] (what goes when its time is over).

mod retain;
mod run;
mod sweep;

mod process;
mod report;

mod address;
mod authenticity;
mod callback;
mod contain;
mod coverage;
mod dkim;
mod fetch;
mod finding;
mod judge;
mod letter;
mod minimize;
mod reading;

mod settings;

pub use address::InboxPolicy;
pub use callback::{Callbacks, CallbacksError, Receiver};
pub use dkim::{Dkim, DkimError};
pub use fetch::{Fetcher, FetcherError};
pub use process::{Deps, Outcome};
pub use retain::Janitor;
pub use run::run;
pub use settings::Settings;
pub use sweep::{Swept, sweep, sweep_forever};
