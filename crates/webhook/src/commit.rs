//! Group commit: posts that arrive together are recorded in one transaction.
//!
//! A post hands its delivery to a committer and waits. A committer takes everything
//! that waits, without waiting for more, records it in one commit and answers each
//! post from the result. The next batch gathers during the commit. On an idle server
//! every post is committed alone and at once. A post that repeats one of these waits for
//! its commit (`repeats.rs`).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use pipeline::{DeliveryLog, Doorbell, Meters, NewDelivery, Recorded, StoreError};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::{Account, Budget, BudgetSpent, Reservation};
use crate::notifier::Notifier;
use crate::repeats::{Begun, First, Repeats};
use crate::settings::Settings;

/// It is not known whether the delivery is recorded, now or later. The sender
/// retries, and the retry may be a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitError {
    /// The database failed or was unavailable.
    Failed,
    /// The commit took longer than a post may wait. The commit itself goes on.
    Late,
    /// The process is shutting down.
    Closed,
}

/// A post that waits for its commit.
struct PendingPost {
    delivery: NewDelivery,
    answer: PendingAnswer,
}

/// What is kept of a post while its delivery is being recorded.
struct PendingAnswer {
    to: oneshot::Sender<Recorded>,
    first: First,
    /// Released when the commit has ended, even if the post gave up waiting: the
    /// bytes are in memory until then.
    _reservation: Reservation,
}

/// A handle to the committers, cheap to clone.
#[derive(Clone)]
pub struct Committer {
    queue: mpsc::UnboundedSender<PendingPost>,
    repeats: Repeats,
    budget: Budget,
    timeout: Duration,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Committer {
    /// Starts the committers and the notifier on the current runtime.
    pub fn start(
        log: Arc<dyn DeliveryLog>,
        doorbell: Arc<dyn Doorbell>,
        meters: Meters,
        settings: &Settings,
    ) -> Self {
        // The channel is unbounded, but the memory budget bounds what is in it.
        let (queue, waiting) = mpsc::unbounded_channel();
        let (closing, tasks) = (CancellationToken::new(), TaskTracker::new());
        let commit_loop = CommitLoop {
            waiting: Arc::new(Mutex::new(waiting)),
            log,
            notifier: Notifier::start(doorbell, meters.clone(), &tasks),
            meters,
            batch: settings.batch,
            closing: closing.clone(),
        };
        for _ in 0..settings.committers {
            tasks.spawn(commit_loop.clone().supervise());
        }
        Self {
            queue,
            repeats: Repeats::default(),
            budget: Budget::new(settings.in_flight_bytes, settings.body_limit),
            timeout: settings.commit_timeout,
            closing,
            tasks,
        }
    }

    /// Reserves memory for a post, if the budget allows it.
    pub(crate) fn reserve(&self, account: Account) -> Result<Reservation, BudgetSpent> {
        self.budget.reserve(account)
    }

    /// Records a delivery and waits for the commit, up to the timeout. A timeout ends
    /// only the wait; the commit goes on.
    pub(crate) async fn commit(
        &self,
        delivery: NewDelivery,
        reservation: Reservation,
    ) -> Result<Recorded, CommitError> {
        let recorded = match self.repeats.begin(&delivery) {
            Begun::Repeat(first) => {
                drop(delivery);
                // The reservation is kept until the answer. It is more than the post still
                // needs, and so bounds how many posts may wait.
                timeout(self.timeout, first.wait()).await
            }
            Begun::First(first) => {
                let recorded = self.queue(delivery, first, reservation)?;
                timeout(self.timeout, recorded.map(Result::ok)).await
            }
        };
        match recorded {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(CommitError::Failed),
            Err(_elapsed) => Err(CommitError::Late),
        }
    }

    /// Hands a delivery to the committers. Its answer comes unless the commit fails.
    fn queue(
        &self,
        delivery: NewDelivery,
        first: First,
        reservation: Reservation,
    ) -> Result<oneshot::Receiver<Recorded>, CommitError> {
        let (to, recorded) = oneshot::channel();
        let answer = PendingAnswer {
            to,
            first,
            _reservation: reservation,
        };
        let queued = self.queue.send(PendingPost { delivery, answer });
        queued.ok().ok_or(CommitError::Closed)?;
        Ok(recorded)
    }

    /// Shuts down: waiting posts are committed and answered, the last notifications are sent,
    /// and later posts are refused. Stop the HTTP server first.
    pub async fn finish(self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// One of the committers.
#[derive(Clone)]
struct CommitLoop {
    waiting: Arc<Mutex<mpsc::UnboundedReceiver<PendingPost>>>,
    log: Arc<dyn DeliveryLog>,
    notifier: Notifier,
    meters: Meters,
    batch: usize,
    closing: CancellationToken,
}

impl CommitLoop {
    /// Runs the loop again whenever it panics. The posts of the failed batch get 503.
    async fn supervise(self) {
        while tokio::spawn(self.clone().run()).await.is_err() {
            // Posts wait for the committer, so it is started again at once.
            let _wait = self.meters.tasks.count("committer");
            tracing::error!("a committer panicked; it is started again");
        }
    }

    async fn run(self) {
        loop {
            let batch = self.gather().await;
            if batch.is_empty() {
                return;
            }
            self.commit(batch).await;
        }
    }

    /// Everything that waits, once anything does. Empty at shutdown.
    async fn gather(&self) -> Vec<PendingPost> {
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

    async fn commit(&self, batch: Vec<PendingPost>) {
        let (deliveries, answers): (Vec<_>, Vec<_>) = batch
            .into_iter()
            .map(|post| (post.delivery, post.answer))
            .unzip();
        #[expect(clippy::cast_precision_loss, reason = "a batch is at most 1024")]
        self.meters.commit_batch.observe(deliveries.len() as f64);
        match self.record(deliveries).await {
            Some(recorded) if recorded.len() == answers.len() => self.answer(answers, &recorded),
            // Posts whose answers are dropped get 503.
            _ => drop(answers),
        }
    }

    /// A panic ends the committer, which drops the answers of this batch: its posts get 503.
    async fn record(&self, deliveries: Vec<NewDelivery>) -> Option<Vec<Recorded>> {
        let count = deliveries.len();
        let recorded = self.log.record(deliveries).await;
        recorded.inspect_err(|error| report(error, count)).ok()
    }

    fn answer(&self, answers: Vec<PendingAnswer>, recorded: &[Recorded]) {
        for (answer, recorded) in answers.into_iter().zip(recorded) {
            // A client that hung up is not a failure: its retry is a duplicate.
            let _ = answer.to.send(*recorded);
            answer.first.answer(*recorded);
        }
        let fresh = recorded
            .iter()
            .filter(|recorded| recorded.is_fresh())
            .map(|recorded| recorded.id());
        self.notifier.notify(fresh.collect());
    }
}

fn report(error: &StoreError, deliveries: usize) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, deliveries, "deliveries were not recorded; their posts were answered 503");
}

#[cfg(test)]
mod tests;
