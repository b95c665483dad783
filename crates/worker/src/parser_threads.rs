//! The threads on which mails are parsed.
//!
//! Parsing is the dangerous part: the bytes come from an unknown sender. So it runs on
//! a few long-lived threads with a large stack. A panic ends one thread, and the next
//! mail gets a new one. Each mail has a step budget, so parsing ends by itself; when it
//! overruns its time, or nobody waits for it any more, it is stopped through that
//! budget. So no thread outlives its mail. `extract` refuses mails that could abort the
//! process, and the attempt counted in the row dead-letters a mail that does it anyway.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use extract::{Decision, FromAddress, Identity, Policy, Refusal, ReplyHeaders, Steps};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

const STACK: usize = 64 << 20;
/// How long a stopped thread has until it counts as lost.
const GRACE: Duration = Duration::from_secs(2);
/// The memory for all mails that are parsed at once, in KiB.
const MEMORY: u32 = 256 << 10;

/// A mail that was parsed once, and what it holds under each policy.
#[derive(Debug)]
pub(crate) struct ParsedMail {
    pub(crate) identity: Identity,
    pub(crate) sender: FromAddress,
    pub(crate) reply: ReplyHeaders,
    /// One for each policy, in the order of the policies.
    pub(crate) decisions: Vec<Decision>,
}

/// The result of parsing a mail.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// The mail was read. It may hold nothing.
    Mail(Box<ParsedMail>),
    /// The extractor refused the mail.
    Refused(Refusal),
    /// The parser panicked.
    Panicked,
    /// The parser took longer than its time budget.
    TooSlow,
    /// The system could not start a thread.
    NoThread,
}

struct Job {
    raw: Arc<Vec<u8>>,
    policies: Vec<Policy>,
    stop: Arc<AtomicBool>,
    answer: oneshot::Sender<Result<ParsedMail, Refusal>>,
}

/// Stops the parser when its caller no longer waits.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A few threads that parse mails.
#[derive(Debug)]
pub struct ParserThreads {
    /// A thread that waits for a job has its sender here.
    idle: Mutex<Vec<mpsc::Sender<Job>>>,
    /// One permit for each thread.
    free: Semaphore,
    /// One permit for each KiB that the mails may need.
    memory: Semaphore,
    parsed: AtomicU64,
}

impl ParserThreads {
    /// At most `threads` threads at a time, each started when it is first needed.
    pub fn new(threads: usize) -> Self {
        Self {
            idle: Mutex::default(),
            free: Semaphore::new(threads.max(1)),
            memory: Semaphore::new(usize::try_from(MEMORY).unwrap_or(usize::MAX)),
            parsed: AtomicU64::new(0),
        }
    }

    /// How many mails were given to these threads so far, each counted once.
    pub fn parsed(&self) -> u64 {
        self.parsed.load(Ordering::Relaxed)
    }

    /// Parses a mail once and decides what it holds under each policy.
    pub(crate) async fn parse(
        &self,
        raw: Arc<Vec<u8>>,
        policies: Vec<Policy>,
        time: Duration,
    ) -> Parsed {
        self.parsed.fetch_add(1, Ordering::Relaxed);
        self.run(raw, policies, time).await
    }

    /// Parses a small mail, so that the lexicons are built before the first real one.
    pub(crate) async fn warm_up(&self, time: Duration) {
        let mail = b"From: nobody@localhost\r\n\r\nnothing\r\n".to_vec();
        self.run(Arc::new(mail), vec![Policy::default()], time)
            .await;
    }

    async fn run(&self, raw: Arc<Vec<u8>>, policies: Vec<Policy>, time: Duration) -> Parsed {
        // The semaphores are never closed.
        let _memory = self.memory.acquire_many(memory_of(raw.len())).await;
        let _permit = self.free.acquire().await;
        let (answer, mut result) = oneshot::channel();
        let stop = StopOnDrop(Arc::default());
        let job = Job {
            raw,
            policies,
            stop: Arc::clone(&stop.0),
            answer,
        };
        let Some(thread) = self.hand_over(job) else {
            return Parsed::NoThread;
        };
        let Ok(parsed) = timeout(time, &mut result).await else {
            stop.0.store(true, Ordering::Relaxed);
            // A thread that does not stop gets no further mail and ends with this one.
            if let Ok(Ok(_stopped)) = timeout(GRACE, result).await {
                self.idle().push(thread);
            }
            return Parsed::TooSlow;
        };
        match parsed {
            Ok(parsed) => {
                self.idle().push(thread);
                parsed.map_or_else(Parsed::Refused, |mail| Parsed::Mail(Box::new(mail)))
            }
            Err(_dropped_by_a_panic) => Parsed::Panicked,
        }
    }

    /// Gives the job to an idle thread, or to a new one.
    fn hand_over(&self, mut job: Job) -> Option<mpsc::Sender<Job>> {
        loop {
            let idle = self.idle().pop();
            let thread = idle.map_or_else(spawn, Some)?;
            match thread.send(job) {
                Ok(()) => return Some(thread),
                // The thread is gone; try another one.
                Err(mpsc::SendError(returned)) => job = returned,
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<mpsc::Sender<Job>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread for each core, at least two and at most eight.
impl Default for ParserThreads {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(2, NonZero::get);
        Self::new(cores.clamp(2, 8))
    }
}

fn spawn() -> Option<mpsc::Sender<Job>> {
    let (jobs, inbox) = mpsc::channel::<Job>();
    let thread = thread::Builder::new()
        .name("parser".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            while let Ok(job) = inbox.recv() {
                let parsed = parse(&job.raw, &job.policies, &job.stop);
                // Nobody may be waiting for the answer any more.
                let _ = job.answer.send(parsed);
            }
        });
    thread.is_ok().then_some(jobs)
}

fn parse(raw: &[u8], policies: &[Policy], stop: &AtomicBool) -> Result<ParsedMail, Refusal> {
    let mail = extract::read_within(raw, &Steps::for_size(raw.len()).until(stop))?;
    let mut decisions = Vec::with_capacity(policies.len());
    for policy in policies {
        if stop.load(Ordering::Relaxed) {
            return Err(Refusal::TooCostly);
        }
        decisions.push(mail.decide(policy));
    }
    Ok(ParsedMail {
        identity: mail.identity,
        sender: mail.sender,
        reply: mail.reply,
        decisions,
    })
}

/// The KiB that reading a mail of `size` bytes may need: `extract` promises no more.
fn memory_of(size: usize) -> u32 {
    let needed = size.saturating_mul(8).saturating_add(16 << 20) >> 10;
    u32::try_from(needed).unwrap_or(MEMORY).min(MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(30);

    fn mail(body: &str) -> Arc<Vec<u8>> {
        let mail = format!("From: a@b.example\r\nContent-Type: text/html\r\n\r\n{body}");
        Arc::new(mail.into_bytes())
    }

    #[tokio::test]
    async fn parsing_beyond_its_time_is_stopped_and_its_thread_is_used_again() {
        let threads = ParserThreads::new(1);
        threads.warm_up(TIME).await;
        let slow = mail(&"<p class='a b c'>482913 x</p>".repeat(30_000));
        let parsed = threads.run(slow, Vec::new(), Duration::ZERO).await;
        assert!(matches!(parsed, Parsed::TooSlow), "{parsed:?}");
        assert_eq!(threads.idle().len(), 1, "the thread stopped and came back");
        let parsed = threads.run(mail("hello"), Vec::new(), TIME).await;
        assert!(matches!(parsed, Parsed::Mail(_)), "{parsed:?}");
    }

    #[tokio::test]
    async fn parsing_that_nobody_waits_for_is_stopped() {
        let threads = ParserThreads::new(1);
        let stop = Arc::new(AtomicBool::new(false));
        drop(StopOnDrop(Arc::clone(&stop)));
        let parsed = parse(&mail("hello"), &[Policy::default()], &stop);
        assert_eq!(parsed.map(|_| ()).unwrap_err(), Refusal::TooCostly);
        assert_eq!(threads.parsed(), 0);
    }
}
