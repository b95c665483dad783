//! A running server seen from outside: by an agent that waits for its code, and by
//! a sender that posts mail. `wait`, `trigger`, the demo and the end-to-end tests
//! use this module.

mod agent;
mod answer;
mod attempt;
mod call;
mod complaint;
mod hook;
mod problem;
mod remote;
mod sample;

pub use agent::{Client, Connection};
pub use answer::{Consumption, Disclosed, Item, Kind, Page, State};
pub use attempt::{Attempt, AttemptConsumption, AttemptValue, FinishAnswer, ResendAnswer};
pub use call::CallError;
pub use complaint::Complaint;
pub(crate) use hook::send;
pub use hook::{Delivery, Hook, Posted, SignedPost};
pub(crate) use remote::Remote;
pub use sample::{Sample, SampleKind, sample_mail};
