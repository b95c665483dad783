//! The doorbell of [`pipeline`], over RabbitMQ and inside one process.
//!
//! A notification is one message of the queue. It carries delivery ids and nothing else. The
//! rows in the database are the truth: a lost notification costs a delay, and a repeated notification
//! costs one look at the row.
//!
//! This crate never sees a body, never decides whether a delivery is finished, and
//! never makes its caller wait for an unavailable broker.
//!
//! `README.md` lists the files in reading order.

mod open;
mod open_error;
mod settings;

mod in_process;

mod amqp;

pub use open::{Queue, open};
pub use open_error::OpenError;
pub use settings::Settings;
