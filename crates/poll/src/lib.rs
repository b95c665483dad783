//! Polls sources for their mail, because a webhook may fail.
//!
//! A source is polled when an inbox is awaited and no mail came, and every few minutes
//! in any case. The crate also raises an alarm when a source that usually posts has
//! gone silent.
//!
//! This crate never parses a mail, never speaks SQL, never marks a mail as read, never
//! sends a request to a host that is not the source's own, and never lets one source
//! wait for another.
//!
//! Read it in this order: [`client`] (what a source must answer, and the building
//! blocks for it), [`provider`] (one client for each kind of source), [`source_loop`]
//! (one source: its lease, its rounds, its schedule), [`run()`] (all sources),
//! [`watch`] (awaited inboxes and silent sources).

mod settings;

mod flaw;
mod jitter;
mod meters;

mod client;
mod deps;
mod inbox_filter;

mod polled_sources;
mod provider;

mod import;
mod run;
mod source_loop;
mod watch;

#[cfg(test)]
mod scripted_source;

pub use deps::Deps;
pub use flaw::PollFlaw;
pub use import::{Import, ImportError, Imported};
pub use meters::Meters;
pub use polled_sources::{PolledSources, PolledSourcesError};
pub use run::run;
pub use settings::Settings;
