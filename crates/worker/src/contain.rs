//! The dangerous part: a stranger's bytes meet the parser.
//!
//! The parser recurses over nested parts, so it runs on a thread with a large
//! stack; a panic ends that thread alone; a parse that outstays its budget is
//! left behind. The pre-scan inside `extract` keeps the known ways to abort the
//! process from reaching the parser at all, and the attempt counted in the row
//! keeps an unknown one from crashing the worker for ever.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use extract::{Extracted, Policy, Refusal};
use tokio::sync::oneshot;
use tokio::time::timeout;

const STACK: usize = 64 << 20;

/// What came of reading a mail.
#[derive(Debug)]
pub(crate) enum Read {
    /// It was read; what was found may still be nothing.
    Mail(Box<Extracted>),
    /// The pre-scan or the parser would not have it.
    Refused(Refusal),
    /// The parser panicked.
    Panicked,
    /// The parser took longer than its budget.
    TooSlow,
    /// The machine gave us no thread; this passes.
    NoThread,
}

/// Reads one mail on a thread of its own.
pub(crate) async fn read(raw: Arc<Vec<u8>>, policy: Arc<Policy>, budget: Duration) -> Read {
    let (answer, result) = oneshot::channel();
    let thread = thread::Builder::new()
        .name("mail".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // Nobody listens any more when the budget is spent.
            let _ = answer.send(extract::extract(&raw, &policy));
        });
    if thread.is_err() {
        return Read::NoThread;
    }
    match timeout(budget, result).await {
        Ok(Ok(Ok(extracted))) => Read::Mail(Box::new(extracted)),
        Ok(Ok(Err(refusal))) => Read::Refused(refusal),
        Ok(Err(_dropped_without_an_answer)) => Read::Panicked,
        Err(_elapsed) => Read::TooSlow,
    }
}

/// Reads a mail of nothing, so that the extractor's lexicons are built before
/// the first real one is waited for.
pub(crate) async fn warm_up(budget: Duration) {
    let nothing = b"From: nobody@localhost\r\n\r\nnothing\r\n".to_vec();
    read(Arc::new(nothing), Arc::default(), budget).await;
}
