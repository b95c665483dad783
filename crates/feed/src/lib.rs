//! What agents call: a minimized list, a bounded wait, and consume at most once.
//!
//! This crate never sees a mail, a body, a subject or a signature: it depends on
//! the words and seams of `pipeline` alone, and what it may say of an artifact
//! is written down in `item.rs`, field by field.
//!
//! Read it in the order of the modules below.

mod routes;
mod settings;

mod auth;
mod keys;

mod consume;
mod list;
mod wait;

mod cursor;
mod item;
mod problem;
mod reply;

pub use keys::{KeySettings, Keys, KeysError};
pub use routes::{Deps, routes};
pub use settings::Settings;
