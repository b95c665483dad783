//! Replies: at most one to each message, and a limited number in each thread.

mod handling;
mod log;
mod refusal;
mod thread;

pub use handling::*;
pub use log::*;
pub use refusal::ReplyRefusal;
pub use thread::*;
