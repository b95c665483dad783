//! Takes a provider's post and answers 200 once it is a committed row.
//!
//! This crate never parses a mail, never decodes a payload and never lets the
//! queue decide an answer: it reads bytes within budgets, has their origin
//! proven, and records them.
//!
//! Read it in the order of a post's way: [`routes`], the handler, the checks on
//! headers, the budgeted read, whose post it is, the group commit, the ringer, the answers.

mod routes;

mod receive;

mod screen;

mod body;
mod budget;

mod certificates;
mod peer;

mod commit;
mod ringer;

mod reply;
mod unread;

mod settings;

pub use certificates::{CertificateAway, CertificateFetch, Certificates};
pub use commit::Committer;
pub use routes::{Deps, routes};
pub use settings::{Settings, SettingsError};
