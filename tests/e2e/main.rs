//! Scenarios against the real binary: real processes, real databases, a real
//! broker. Each scenario about the pipeline runs on both profiles.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a scenario that cannot go on fails"
)]

mod harness;
mod liar_api;
mod mailbox;
mod provider_api;
mod speaker;

mod amazon;
mod architecture;
mod attempts;
mod banner;
mod callbacks;
mod commands;
mod consume_once;
mod crash;
mod duplicates;
mod hydrated;
mod keys;
mod outage;
mod poison;
mod poll_http;
mod poll_imap;
mod poll_import;
mod poll_killed;
mod poll_leases;
mod poll_liars;
mod poll_waiting;
mod readme;
mod received;
mod seal;
mod senders;
mod signed;
mod silence;
mod sources;
mod stop;
mod storm;
mod strangers;
mod waits;
