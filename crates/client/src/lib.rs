//! A running server seen from outside: by an agent that waits for its code, and by
//! a sender that posts mail. The commands and the demo use this crate.
//!
//! It only speaks HTTP. What an answer means is decided by the server, so no rule of the
//! domain is repeated here.

mod agent;
mod answer;
mod attempt;
mod call;
mod complaint;
mod guard;
mod hook;
mod problem;
mod sample;
mod sends;
mod set_up;

pub use agent::{Client, Connection};
pub use answer::{Consumption, Disclosed, Item, Kind, Page, State};
pub use attempt::{Attempt, AttemptConsumption, AttemptValue, FinishAnswer, ResendAnswer};
pub use call::CallError;
pub use complaint::Complaint;
pub use guard::GuardAnswer;
pub use hook::{Delivery, Hook, PostError, Posted, SignedPost, send};
pub use sample::{Sample, SampleKind, sample_mail};
pub use sends::{OfferedSender, OfferedTemplate, OfferedValue, SendAnswer, SenderList};
pub use set_up::SetUpError;
