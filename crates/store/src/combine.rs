//! Concurrent calls of one operation share a unit of work.
//!
//! A call begins a unit of work at once if none of its kind runs. Calls that come
//! meanwhile are the next one together. So a single call waits for nobody, and under
//! load there are few round trips and commits. While a worker has a backlog, calls wait a
//! few milliseconds for others, see `backlog.rs`.
//!
//! A unit of work that fails because of its data is repeated with each call alone, so
//! that one call cannot fail the others. When the database is unavailable, all fail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipeline::StoreError;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::backend::Backend;
use crate::backlog::BacklogWait;
use crate::database::{Database, Session};
use crate::fault::{Cause, Fault};
use crate::uncancelled::{ABANDONED_AFTER, ended_without_answer, no_answer};

/// The most calls in one unit of work.
const MOST_CALLS: usize = 64;

/// How long a call waits, and how long its unit of work may take.
#[derive(Clone, Copy)]
pub(crate) struct TimeLimit {
    call: Duration,
    work: Duration,
}

impl TimeLimit {
    /// The caller gives up at the limit; the work goes on, as in `uncancelled.rs`.
    pub(crate) fn of_call(limit: Duration) -> Self {
        let work = limit * ABANDONED_AFTER;
        Self { call: limit, work }
    }

    /// The caller waits as long as work with this limit may take.
    pub(crate) fn of_work(limit: Duration) -> Self {
        let work = limit * ABANDONED_AFTER;
        Self { call: work, work }
    }
}

/// The calls of one operation that wait for a unit of work.
pub(crate) struct Combiner<I, O> {
    waiting: Arc<Mutex<Waiting<I, O>>>,
    backlog: Option<Arc<BacklogWait>>,
}

struct Waiting<I, O> {
    calls: VecDeque<Call<I, O>>,
    /// Whether a unit of work runs. Only one does: the calls that come meanwhile share the
    /// next one. Two units at once would both be small.
    is_running: bool,
}

struct Call<I, O> {
    input: I,
    answer: oneshot::Sender<Result<O, StoreError>>,
}

impl<I, O> Default for Combiner<I, O> {
    fn default() -> Self {
        let waiting = Waiting {
            calls: VecDeque::new(),
            is_running: false,
        };
        Self {
            waiting: Arc::new(Mutex::new(waiting)),
            backlog: None,
        }
    }
}

impl<I, O> Combiner<I, O> {
    /// Calls wait for others while there is a backlog.
    pub(crate) fn waiting_in(backlog: BacklogWait) -> Self {
        Self {
            backlog: Some(Arc::new(backlog)),
            ..Self::default()
        }
    }
}

impl<I, O> Combiner<I, O>
where
    I: Send + Sync + 'static,
    O: Send + 'static,
{
    /// Makes `input` part of a unit of work and waits for its answer until the timeout.
    /// `work` gets the inputs of several calls and returns their answers in their order.
    pub(crate) async fn call<B, F, W>(
        &self,
        database: &Database<B>,
        limit: TimeLimit,
        input: I,
        work: F,
    ) -> Result<O, StoreError>
    where
        B: Backend,
        F: Fn(Session<B>, Arc<Vec<I>>) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Vec<O>, Fault>> + Send,
    {
        let (answer, answered) = oneshot::channel();
        let begins = {
            let mut waiting = locked(&self.waiting);
            waiting.calls.push_back(Call { input, answer });
            !std::mem::replace(&mut waiting.is_running, true)
        };
        if begins {
            let mut runner = Runner {
                waiting: Arc::clone(&self.waiting),
                is_noted: true,
            };
            let backlog = self.backlog.clone();
            let session = database.session.clone();
            database.work.spawn(async move {
                loop {
                    let time = backlog.as_ref().and_then(|it| it.now());
                    if let Some(time) = time.filter(|_| !runner.is_full()) {
                        sleep(time).await;
                    }
                    let Some(calls) = runner.next() else {
                        break;
                    };
                    let work = |inputs| work(session.clone(), inputs);
                    answer_all(calls, limit.work, work).await;
                }
            });
        }
        match timeout(limit.call, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_dropped)) => Err(ended_without_answer()),
            Err(_elapsed) => Err(no_answer(limit.call)),
        }
    }
}

/// Runs units of work until no call waits.
struct Runner<I, O> {
    waiting: Arc<Mutex<Waiting<I, O>>>,
    is_noted: bool,
}

impl<I, O> Runner<I, O> {
    /// Whether the next unit of work has no room for more calls.
    fn is_full(&self) -> bool {
        locked(&self.waiting).calls.len() >= MOST_CALLS
    }

    /// The calls that wait. If there are none, this runner is no longer noted as running.
    /// That happens under the same lock, so the next call starts a new runner.
    fn next(&mut self) -> Option<Vec<Call<I, O>>> {
        let mut waiting = locked(&self.waiting);
        if waiting.calls.is_empty() {
            waiting.is_running = false;
            self.is_noted = false;
            return None;
        }
        let calls = waiting.calls.len().min(MOST_CALLS);
        Some(waiting.calls.drain(..calls).collect())
    }
}

/// A unit of work that panics ends its runner, which must not be noted any longer. The calls
/// that wait end with it: otherwise they would wait for the next call, which runs them.
impl<I, O> Drop for Runner<I, O> {
    fn drop(&mut self) {
        if self.is_noted {
            let mut waiting = locked(&self.waiting);
            waiting.is_running = false;
            waiting.calls.clear();
        }
    }
}

fn locked<I, O>(waiting: &Mutex<Waiting<I, O>>) -> MutexGuard<'_, Waiting<I, O>> {
    // No code that holds the lock can leave the queue half changed.
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers these calls: together, or each alone if they fail together.
async fn answer_all<I, O, F, W>(calls: Vec<Call<I, O>>, limit: Duration, work: F)
where
    F: Fn(Arc<Vec<I>>) -> W,
    W: Future<Output = Result<Vec<O>, Fault>>,
{
    for call in answer_together(calls, limit, &work).await {
        answer_together(vec![call], limit, &work).await;
    }
}

/// Answers these calls together. Returns them instead if one of them may have failed
/// the others.
async fn answer_together<I, O, F, W>(
    calls: Vec<Call<I, O>>,
    limit: Duration,
    work: &F,
) -> Vec<Call<I, O>>
where
    F: Fn(Arc<Vec<I>>) -> W,
    W: Future<Output = Result<Vec<O>, Fault>>,
{
    // A caller that has given up needs no answer.
    let calls = calls.into_iter().filter(|call| !call.answer.is_closed());
    let (inputs, callers): (Vec<_>, Vec<_>) = calls.map(|call| (call.input, call.answer)).unzip();
    if callers.is_empty() {
        return Vec::new();
    }
    let inputs = Arc::new(inputs);
    let error = match timeout(limit, work(Arc::clone(&inputs))).await {
        Ok(Ok(answers)) => {
            for (caller, answer) in callers.into_iter().zip(answers) {
                // The caller may have given up meanwhile.
                let _ = caller.send(Ok(answer));
            }
            return Vec::new();
        }
        Ok(Err(fault)) if callers.len() > 1 && fault.may_be_of_one() => {
            let inputs = Arc::into_inner(inputs).unwrap_or_default();
            let calls = inputs.into_iter().zip(callers);
            return calls
                .map(|(input, answer)| Call { input, answer })
                .collect();
        }
        Ok(Err(fault)) => fault.into(),
        Err(_elapsed) => no_answer(limit),
    };
    for caller in callers {
        let _ = caller.send(Err(same(&error)));
    }
    Vec::new()
}

/// The same error for another caller.
fn same(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(cause) => {
            StoreError::Unavailable(Box::new(Cause(cause.to_string())))
        }
        StoreError::Broken(cause) => StoreError::Broken(Box::new(Cause(cause.to_string()))),
    }
}
