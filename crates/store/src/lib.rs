//! Deliveries, messages, artifacts and consumes in Postgres or `SQLite`, behind
//! the seams of [`pipeline`].
//!
//! This crate never cancels a database future, never decides a duplicate by a
//! prior read, never reckons a lease, a wait or an expiry by any clock but the
//! database's, never writes a body or a value unsealed, and never logs a body, an
//! address, a code or a link.
//!
//! Read `open.rs` first, then `uncancelled.rs` (how every method runs), `backend.rs`
//! (how an algorithm is written once for both databases), `seal.rs` (what no column
//! shows) and one subject, such as `consumes.rs`. `postgres.rs` and `sqlite.rs` hold
//! what differs: connecting, lending connections, locking, notifying and the schema.

mod open;
mod scratch;
mod settings;

mod agents;
mod artifacts;
mod attempts;
mod backend;
mod batch;
mod binding;
mod callbacks;
mod claims;
mod column;
mod consumes;
mod database;
mod deliveries;
mod expectations;
mod failures;
mod fault;
mod inboxes;
mod keys;
mod messages;
mod migrations;
mod polls;
mod probe;
mod requests;
mod reseal;
mod retention;
mod seal;
mod silence;
mod stored;
mod uncancelled;
mod waiting;
mod watches;

mod postgres;
mod sqlite;

pub use migrations::{Migrated, MigrationPlan, PlannedMigration};
pub use open::{OpenError, Store, migrate, open, plan};
pub use reseal::{Resealed, Sealing};
pub use scratch::{create_database, drop_database};
pub use seal::{KeyFile, KeyFileError, KeyId, Keyring, SealKey};
pub use settings::{Secrets, Settings};
