//! End-to-end tests of the real binary, with real processes, databases and brokers. Each
//! test of the pipeline runs on both profiles.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot continue fails"
)]

mod broken_api;
mod client;
mod clock;
mod database;
mod harness;
mod mailbox;
mod provider_api;

mod amazon;
mod architecture;
mod attempts;
mod backup;
mod callbacks;
mod commands;
mod consume_once;
mod crash;
mod deploy;
mod doctor;
mod duplicates;
mod fetched_mail;
mod front_door;
mod full_disk;
mod guards;
mod hang_ups;
mod keys;
mod killed_server;
mod kills;
mod logs;
mod mcp;
mod metrics;
mod mint_domain;
mod mistakes;
mod no_disclosure;
mod openapi;
mod outage;
mod outside;
mod pgbouncer;
mod placeholders;
mod poison;
mod poll_backlog;
mod poll_broken_sources;
mod poll_http;
mod poll_imap;
mod poll_import;
mod poll_killed;
mod poll_leases;
mod poll_waiting;
mod readme;
mod received;
mod refused_posts;
mod replies;
mod seal;
mod send_commands;
mod send_once;
mod senders;
mod signed;
mod sources;
mod startup_output;
mod stop;
mod storage_quota;
mod storm;
mod unread_bodies;
mod untrusted_text;
mod upgrade;
mod waits;
