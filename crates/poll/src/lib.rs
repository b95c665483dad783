//! Asks sources for their mail, because a webhook may fail: when an inbox is
//! awaited and nothing came, every few minutes in any case, and it raises an
//! alarm when a source has gone silent.
//!
//! This crate never parses a mail, never speaks SQL, never marks a mail as read,
//! never asks a host that is not the source's own, and never lets one source
//! wait for another.
//!
//! Read it in this order: `pull` (what a source must be able to answer), `walk`
//! (how a list that shifts is read whole), `round` (one round, within its
//! bounds), `tend` (one source, for ever), [`run`] (all of them), `waiting`,
//! `carried` and `silence` (what makes it ask whom, and warn), then one file for
//! each kind of source in `contract/`.

mod carried;
mod pull;
mod recipients;
mod walk;

mod round;
mod tend;

mod run;
mod silence;
mod waiting;

mod import;

mod http;
mod imap_login;

mod contract;

mod meters;
mod settings;

#[cfg(test)]
mod desk;

pub use contract::{PullFlaw, Pulls, PullsError};
pub use import::{Import, ImportError, Imported};
pub use meters::Meters;
pub use run::{Deps, run};
pub use settings::Settings;
