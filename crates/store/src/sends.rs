//! Sends and guards: one row for each intent, which its unique key lets happen once.
//!
//! `guards.rs` is for agents that act elsewhere, `record.rs` and `decide.rs` for those
//! who ask for a send and decide about it, `operator.rs` for the operator, `reply.rs` and
//! `threads.rs` for answers to messages, `outbox.rs` and `settle.rs` for the process that
//! hands sends to their providers.

mod caps;
mod content;
mod decide;
mod echo;
mod event;
mod expire;
mod guards;
mod operator;
mod outbox;
mod proof;
mod record;
mod reply;
mod reply_target;
mod report;
mod row;
mod settle;
mod thread_caps;
mod threads;

use pipeline::{NewSend, SendPermit, SendRecorded, SendWritten};

use crate::combine::Combiner;
use outbox::{Dispatching, Ended};

/// Concurrent calls about sends that share their commits: each commit waits for the disk.
#[derive(Default)]
pub(crate) struct SharedCommits {
    records: Combiner<NewSend, SendRecorded>,
    dispatches: Combiner<Dispatching, SendPermit>,
    ends: Combiner<Ended, SendWritten>,
}
