//! What the tests of several crates share: the contracts that every database
//! and every queue must keep, and private servers to keep them against.
//!
//! This crate never ships: it is a dependency of tests only.

/// A provider's API on loopback.
#[expect(
    clippy::expect_used,
    reason = "it runs in tests alone, where a failure is a panic"
)]
pub mod api;
/// What every database must do for callbacks; run by `crates/store` on each of its kinds.
pub mod callback_contract;
/// A sender's side of DKIM.
#[expect(
    clippy::expect_used,
    reason = "it runs in tests alone, where a failure is a panic"
)]
pub mod dkim;
/// A DNS server on loopback.
pub mod dns;
/// What every database must do for keys; run by `crates/store` on each of its kinds.
pub mod key_contract;
/// Bounded waiting for something that is to come true.
pub mod patience;
/// What every database must do for pollers; run by `crates/store` on each of its kinds.
pub mod poll_contract;
/// Postal's side of its webhooks.
#[expect(
    clippy::expect_used,
    reason = "it runs in tests alone, where a failure is a panic"
)]
pub mod postal;
/// A TCP proxy that cuts or freezes what runs through it.
pub mod proxy;
/// What every queue must do; run by `crates/queue` on each of its kinds.
pub mod queue_contract;
/// What every database must do with what is no longer needed; run by `crates/store`.
pub mod retention_contract;
#[expect(
    clippy::expect_used,
    reason = "it runs in tests alone, where a failure is a panic"
)]
mod rsa_key;
/// `SendGrid`'s side of its webhooks.
#[expect(
    clippy::expect_used,
    reason = "it runs in tests alone, where a failure is a panic"
)]
pub mod sendgrid;
/// A server of one's own, to be stopped, killed and started again.
pub mod server;
/// A shared secret's side of webhooks.
pub mod shared_secret;
/// Amazon's side of SNS.
#[expect(
    clippy::expect_used,
    reason = "it runs in tests alone, where a failure is a panic"
)]
pub mod sns;
/// What every database must do; run by `crates/store` on each of its kinds.
pub mod store_contract;
