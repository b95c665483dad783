//! Sends and guards: one row for each intent, which its unique key lets happen once.
//!
//! `guards.rs` is for agents that act elsewhere, `record.rs` and `decide.rs` for those
//! who ask for a send and decide about it, `operator.rs` for the operator, `reply.rs` and
//! `threads.rs` for answers to messages, `outbox.rs`, `claim.rs`, `dispatch.rs` and
//! `settle.rs` for the process that hands sends to their providers.

mod caps;
mod claim;
mod content;
mod decide;
mod dispatch;
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
mod requests;
mod row;
mod settle;
mod thread_caps;
mod threads;

use std::sync::Arc;

use pipeline::{NewSend, SendPermit, SendRecorded, SendWritten};

use crate::backend::Backend;
use crate::combine::Combiner;
use crate::database::Database;
use dispatch::{Dispatching, Ended};

/// A database, for sends. Concurrent calls share their commits: each commit waits for the
/// disk.
pub(crate) struct Sends<B: Backend> {
    database: Arc<Database<B>>,
    records: Combiner<NewSend, SendRecorded>,
    dispatches: Combiner<Dispatching, SendPermit>,
    ends: Combiner<Ended, SendWritten>,
}

impl<B: Backend> Sends<B> {
    pub(crate) fn over(database: Arc<Database<B>>) -> Self {
        Self {
            database,
            records: Combiner::default(),
            dispatches: Combiner::default(),
            ends: Combiner::default(),
        }
    }
}
