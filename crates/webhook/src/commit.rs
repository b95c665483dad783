//! Group commit: posts that arrive together are recorded together.
//!
//! A post hands its delivery over and waits. A committer takes whatever waits,
//! at once and without lingering for more, records it in one commit and answers
//! each post from the result. While it commits, the next batch gathers by
//! itself; an idle server commits every post alone and at once.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{DeliveryLog, Doorbell, Meters, NewDelivery, Recorded, StoreError};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Settings;
use crate::budget::{Budget, Held, Spent};
use crate::ringer::Ringer;

/// The delivery is not known to be recorded. It may be, or become so: the
/// sender's retry finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitError {
    /// The database said no, or could not be asked.
    Failed,
    /// The commit took longer than a post may wait; it goes on without it.
    Late,
    /// The process is ending.
    Closed,
}

/// A post that waits for its commit.
struct Waiting {
    delivery: NewDelivery,
    ticket: Ticket,
}

/// What is kept of a post while its delivery is with the database.
struct Ticket {
    answer: oneshot::Sender<Result<Recorded, CommitError>>,
    /// Given back when the commit has ended, whether or not the post still
    /// waits: the bytes are in memory until then.
    _held: Held,
}

/// A handle to the committers, cheap to clone.
#[derive(Clone)]
pub struct Committer {
    queue: mpsc::UnboundedSender<Waiting>,
    budget: Budget,
    patience: Duration,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Committer {
    /// Starts the committers and the ringer on the present runtime.
    pub fn start(
        log: Arc<dyn DeliveryLog>,
        bell: Arc<dyn Doorbell>,
        meters: Meters,
        settings: &Settings,
    ) -> Self {
        // The queue itself is unbounded; the bytes that can be in it are not.
        let (queue, waiting) = mpsc::unbounded_channel();
        let (closing, tasks) = (CancellationToken::new(), TaskTracker::new());
        let worker = Worker {
            waiting: Arc::new(Mutex::new(waiting)),
            log,
            ringer: Ringer::start(bell, meters.clone(), &tasks),
            meters,
            batch: settings.batch,
            closing: closing.clone(),
        };
        for _ in 0..settings.committers {
            tasks.spawn(worker.clone().run());
        }
        Self {
            queue,
            budget: Budget::new(settings.in_flight_bytes),
            patience: settings.commit_timeout,
            closing,
            tasks,
        }
    }

    /// Takes a post's place in memory, if there is room.
    pub(crate) fn hold(&self) -> Result<Held, Spent> {
        self.budget.hold()
    }

    /// Records a delivery and waits for the commit, but not for ever. Giving up
    /// the wait gives up nothing else: the commit goes on.
    pub(crate) async fn commit(
        &self,
        delivery: NewDelivery,
        held: Held,
    ) -> Result<Recorded, CommitError> {
        let (answer, recorded) = oneshot::channel();
        let ticket = Ticket {
            answer,
            _held: held,
        };
        self.queue
            .send(Waiting { delivery, ticket })
            .ok()
            .ok_or(CommitError::Closed)?;
        match tokio::time::timeout(self.patience, recorded).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CommitError::Failed),
            Err(_) => Err(CommitError::Late),
        }
    }

    /// Ends: what waits is committed and answered, the last rings are sent, and
    /// what comes after is refused. Stop the HTTP server first.
    pub async fn finish(self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// One of the committers.
#[derive(Clone)]
struct Worker {
    waiting: Arc<Mutex<mpsc::UnboundedReceiver<Waiting>>>,
    log: Arc<dyn DeliveryLog>,
    ringer: Ringer,
    meters: Meters,
    batch: usize,
    closing: CancellationToken,
}

impl Worker {
    async fn run(self) {
        loop {
            let batch = self.gather().await;
            if batch.is_empty() {
                return;
            }
            self.commit(batch).await;
        }
    }

    /// What waits, as soon as anything does; nothing when it is over.
    async fn gather(&self) -> Vec<Waiting> {
        let mut batch = Vec::with_capacity(self.batch);
        let mut waiting = self.waiting.lock().await;
        tokio::select! {
            biased;
            _ = waiting.recv_many(&mut batch, self.batch) => {}
            () = self.closing.cancelled() => {
                waiting.close();
                waiting.recv_many(&mut batch, self.batch).await;
            }
        }
        batch
    }

    async fn commit(&self, batch: Vec<Waiting>) {
        let (deliveries, tickets): (Vec<_>, Vec<_>) = batch
            .into_iter()
            .map(|waiting| (waiting.delivery, waiting.ticket))
            .unzip();
        #[expect(clippy::cast_precision_loss, reason = "a batch is at most 1024")]
        self.meters.commit_batch.observe(deliveries.len() as f64);
        match self.record(deliveries).await {
            Some(recorded) if recorded.len() == tickets.len() => self.answer(tickets, &recorded),
            _ => refuse(tickets),
        }
    }

    /// Records in a task of its own: a panic in the database's code fails this
    /// batch and not the committer.
    async fn record(&self, deliveries: Vec<NewDelivery>) -> Option<Vec<Recorded>> {
        let count = deliveries.len();
        let log = Arc::clone(&self.log);
        match tokio::spawn(async move { log.record(deliveries).await }).await {
            Ok(Ok(recorded)) => Some(recorded),
            Ok(Err(error)) => {
                report(&error, count);
                None
            }
            Err(error) => {
                tracing::error!(%error, deliveries = count, "recording ended abnormally");
                None
            }
        }
    }

    fn answer(&self, tickets: Vec<Ticket>, recorded: &[Recorded]) {
        for (ticket, recorded) in tickets.into_iter().zip(recorded) {
            // A sender that has hung up is no failure: its retry is a duplicate.
            let _ = ticket.answer.send(Ok(*recorded));
        }
        let fresh = recorded
            .iter()
            .filter(|recorded| recorded.is_fresh())
            .map(|recorded| recorded.id());
        self.ringer.ring(fresh.collect());
    }
}

fn refuse(tickets: Vec<Ticket>) {
    for ticket in tickets {
        let _ = ticket.answer.send(Err(CommitError::Failed));
    }
}

fn report(error: &StoreError, deliveries: usize) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, deliveries, "deliveries were not recorded");
}

#[cfg(test)]
mod tests;
