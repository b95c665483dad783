//! The threads on which mails are parsed.
//!
//! Parsing is the dangerous part: the bytes come from an unknown sender. So it runs on
//! a few long-lived threads with a large stack. A panic ends one thread, and the next
//! mail gets a new one. A thread that overruns its time gets no further mail and ends
//! with the one it has. `extract` refuses mails that could abort the process, and
//! the attempt counted in the row dead-letters a mail that aborts it anyway.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use extract::{Decision, Identity, Policy, Refusal, Sender};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

const STACK: usize = 64 << 20;

/// A mail that was parsed once, and what it holds under each policy.
#[derive(Debug)]
pub(crate) struct ParsedMail {
    pub(crate) identity: Identity,
    pub(crate) sender: Sender,
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
    /// The parser took longer than its time.
    TooSlow,
    /// The system gave no thread.
    NoThread,
}

struct Job {
    raw: Arc<Vec<u8>>,
    policies: Vec<Policy>,
    answer: oneshot::Sender<Result<ParsedMail, Refusal>>,
}

/// A few threads that parse mails.
#[derive(Debug)]
pub struct ParserThreads {
    /// A thread that waits for a job has its sender here.
    idle: Mutex<Vec<mpsc::Sender<Job>>>,
    /// One permit for each thread.
    free: Semaphore,
    parsed: AtomicU64,
}

impl ParserThreads {
    /// At most `threads` threads at a time, each started when it is first needed.
    pub fn new(threads: usize) -> Self {
        Self {
            idle: Mutex::default(),
            free: Semaphore::new(threads.max(1)),
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
        // The semaphore is never closed.
        let _permit = self.free.acquire().await;
        let (answer, result) = oneshot::channel();
        let job = Job {
            raw,
            policies,
            answer,
        };
        let Some(thread) = self.hand_over(job) else {
            return Parsed::NoThread;
        };
        match timeout(time, result).await {
            Ok(Ok(parsed)) => {
                self.idle().push(thread);
                parsed.map_or_else(Parsed::Refused, |mail| Parsed::Mail(Box::new(mail)))
            }
            Ok(Err(_dropped_by_a_panic)) => Parsed::Panicked,
            // Without its sender the thread ends when it is done with this mail.
            Err(_elapsed) => Parsed::TooSlow,
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
                // Nobody receives the answer after a timeout.
                let _ = job.answer.send(parse(&job.raw, &job.policies));
            }
        });
    thread.is_ok().then_some(jobs)
}

fn parse(raw: &[u8], policies: &[Policy]) -> Result<ParsedMail, Refusal> {
    let mail = extract::read(raw)?;
    let decisions = policies.iter().map(|policy| mail.decide(policy)).collect();
    Ok(ParsedMail {
        identity: mail.identity,
        sender: mail.sender,
        decisions,
    })
}
