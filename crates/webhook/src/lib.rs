//! Accepts a provider's post and answers 200 once it is a committed row.
//!
//! This crate never parses a mail and never decodes a payload, and no answer
//! depends on the queue. It reads a body within its budgets, verifies who sent it,
//! and records it.
//!
//! `README.md` lists the files in reading order.

mod routes;

mod receive;

mod headers;

mod body;
mod budget;

mod certificates;
mod peer;

mod commit;
mod notifier;
mod repeats;

mod refusals;
mod reply;
mod unread_body;

mod deps;
mod settings;

pub use certificates::{CertificateFetch, CertificateUnavailable, Certificates};
pub use commit::Committer;
pub use deps::Deps;
pub use refusals::RefusedPosts;
pub use routes::routes;
pub use settings::{Settings, SettingsError};
