//! What agents call: attempts and inboxes, a minimized list, a bounded wait, and
//! consume at most once.
//!
//! This crate never sees a mail, a body, a subject or a signature: it depends on
//! the words and seams of `pipeline` alone, and what it may say of an artifact
//! is written down in `item.rs`, field by field.
//!
//! Read it in the order of the modules below.

mod policy;
mod routes;
mod settings;

mod access;
mod auth;
mod backlog;
mod keys;
mod limits;
mod minted;
mod token;

mod describe;
mod docs;

mod address;
mod attempt;
mod inbox;
mod operator;

mod consume;
mod events;
mod list;
mod wait;

mod body;
mod cursor;
mod field;
mod item;
mod patience;
mod problem;
mod reply;
mod request;

pub use keys::{KeySettings, Keys, KeysError};
pub use policy::Policy;
pub use routes::{Deps, routes};
pub use settings::{Budgets, Settings};
pub use token::{KeyOrder, KeyOrderError};
