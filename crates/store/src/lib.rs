//! Deliveries, messages, artifacts and consumes in Postgres or `SQLite`, behind
//! the seams of [`pipeline`].
//!
//! This crate never cancels a database future, never decides a duplicate by a
//! prior read, never measures a lease, a wait or an expiry by any clock but the
//! database's, never writes a body or a value unsealed, and never logs a body, an
//! address, a code or a link.
//!
//! Read `open.rs` first, then `uncancelled.rs` (how every method runs), `backend.rs`
//! (how an algorithm is written once for both databases), `seal.rs` (what no column
//! shows) and one subject, such as `consumes.rs`. `postgres.rs` and `sqlite.rs` hold
//! what differs: connecting, lending connections, locking, notifying and the schema.

// Opening a database.
mod migrations;
mod open;
mod scratch;
mod settings;

// How an algorithm runs on either database.
mod backend;
mod backlog;
mod column;
mod combine;
mod database;
mod fault;
mod postgres;
mod sqlite;
mod uncancelled;
mod watches;

// Sealed columns.
mod reseal;
mod seal;
mod sealing;
mod secrets_check;

// Mail comes in: the webhook records deliveries, the poller finds them.
mod batch;
mod deliveries;
mod polls;
mod refusals;
mod silence;

// The worker claims a delivery and writes what its mail held.
mod artifacts;
mod binding;
mod callbacks;
mod claims;
mod complete;
mod expectations;
mod failures;
mod handlings;
mod messages;
mod misses;
mod positions;
mod work;

// Agents open attempts, read the feed and consume.
mod attempts;
mod audit;
mod consumes;
mod feed;
mod inboxes;
mod keys;
mod requests;

// Actions that happen once: sends, replies and guards.
mod sends;

// Old data is deleted; the database is checked.
mod probe;
mod retention;

// Rows and columns that several of the above share.
mod stored;
mod waiting;

pub use backend::ConnectionCount;
pub use migrations::{Migrated, MigrationPlan, PlannedMigration};
pub use open::{OpenError, Store, migrate, open, plan};
pub use reseal::Resealed;
pub use scratch::{create_database, drop_database};
pub use seal::{KeyFile, KeyFileError, KeyId, Keyring, SealKey};
pub use sealing::Sealing;
pub use settings::{Secrets, Settings};
