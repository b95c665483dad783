//! Shared by the tests of several crates: the contracts that every database and every
//! queue must fulfil, private servers, and fake counterparts (a DNS server, a provider's
//! API, signing providers).
//!
//! This crate is a dependency of tests only and is never shipped.

/// A fake provider API on loopback.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod api;
/// The contract of a database for callbacks; `crates/store` runs it on each database.
pub mod callback_contract;
/// Databases on the shared PostgreSQL server, one for each test.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod database;
/// A small file system that a test can fill.
pub mod disk;
/// Signs mail with DKIM.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod dkim;
/// A DNS server on loopback.
pub mod dns;
/// The contract of a database for API keys; `crates/store` runs it on each database.
pub mod key_contract;
/// A fake provider that sends mail, by the contracts of the real ones.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod mail_provider;
/// Text that cannot be packed.
pub mod noise;
/// A loopback port that belongs to one test from its start to its end.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod own_port;
/// The contract of a database for polling; `crates/store` runs it on each database.
pub mod poll_contract;
/// Makes posts as Postal signs them.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod postal;
/// A TCP proxy that can cut or freeze its connections.
pub mod proxy;
/// The contract of a queue; `crates/queue` runs it on each queue.
pub mod queue_contract;
/// The contract of a database for replies, threads and rules; `crates/store` runs it on
/// each database.
pub mod reply_contract;
/// The contract of a database for retention; `crates/store` runs it on each database.
pub mod retention_contract;
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
mod rsa_key;
/// The contract of a database for sends and guards; `crates/store` runs it on each
/// database.
pub mod send_contract;
/// Makes posts as `SendGrid` signs them.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod sendgrid;
/// A private server that a test can stop, kill and restart.
pub mod server;
/// Signs posts with a shared secret.
pub mod shared_secret;
/// An SMTP server on loopback.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod smtp_server;
/// Makes posts as Amazon SNS signs them.
#[expect(
    clippy::expect_used,
    reason = "used only in tests, where a failure is a panic"
)]
pub mod sns;
/// The contract of a database; `crates/store` runs it on each database.
pub mod store_contract;
/// Waits for a condition, with a timeout.
pub mod wait;
