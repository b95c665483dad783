//! The doorbell of [`pipeline`], over RabbitMQ and inside one process.
//!
//! A ring carries delivery ids and nothing else. The rows in the database are
//! the truth, so a ring that is lost costs a delay and a ring that comes twice
//! costs a look at the row.
//!
//! This crate never sees a body, never decides whether a delivery is finished,
//! and never makes its caller wait for a broker that is away.
//!
//! Read it in the order of the modules below.

mod open;
mod settings;

mod in_process;

mod amqp;

pub use open::{OpenError, Queue, open};
pub use settings::Settings;
