//! The loops: one for each sender, and one that ends leases and measures. A sender that is
//! slow or paused delays no other.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use futures_util::stream::FuturesUnordered;
use pipeline::{ClaimedSend, Outbox, StoreError, ThreadLog};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::backoff::wait_after;
use crate::dispatch::{Dispatch, Next};
use crate::meters::{Meters, SenderLabel};
use crate::sender::Sender;
use crate::senders::Senders;

/// How many uncertain sends of one sender are looked at together.
const SETTLE_BATCH: u32 = 8;
/// The pause of a sender of which no mail would be accepted. It doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);
/// How often states are counted.
const MEASURE_EVERY: Duration = Duration::from_secs(10);

/// What sending needs.
#[derive(Clone)]
pub struct Sending {
    /// The senders.
    pub senders: Arc<Senders>,
    /// Where sends are claimed.
    pub outbox: Arc<dyn Outbox>,
    /// Where threads are counted that were handed over.
    pub threads: Arc<dyn ThreadLog>,
    /// The metrics.
    pub meters: Meters,
}

/// Hands sends to their providers until stopped.
pub async fn run(sending: Sending, stop: CancellationToken) {
    let senders = sending.senders.iter();
    let loops = senders.map(|sender| sending.serve(sender, &stop));
    let caring = sending.care(&stop);
    futures_util::future::join(join_all(loops), caring).await;
}

/// The sends of one sender that are being handed over or settled.
type Tasks<'t> = FuturesUnordered<BoxFuture<'t, Next>>;

/// The pauses of a sender.
#[derive(Default)]
struct Pause {
    until: Option<Instant>,
    count: u32,
}

impl Pause {
    fn note(&mut self, next: Next) {
        match next {
            Next::GoOn => *self = Self::default(),
            Next::Unchanged => {}
            Next::Pause => {
                let wait = wait_after(self.count, FIRST_PAUSE, LONGEST_PAUSE);
                self.until = Some(Instant::now() + wait);
                self.count = self.count.saturating_add(1);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.until.is_none_or(|until| until <= Instant::now())
    }
}

impl Sending {
    /// Serves one sender.
    async fn serve(&self, sender: &Sender, stop: &CancellationToken) {
        let settings = self.senders.settings();
        let dispatch = Dispatch {
            outbox: &*self.outbox,
            sender,
            settings,
            meters: &self.meters,
        };
        let mut ready = self.outbox.watch_ready(&sender.name);
        let mut pause = Pause::default();
        let mut work = Tasks::new();
        let mut settle_at = Instant::now();
        while !stop.is_cancelled() {
            let room = settings.concurrency.saturating_sub(work.len());
            let mut claimed = 0;
            if room > 0 && pause.is_over() {
                let sends = self.claim(sender, room).await;
                claimed = sends.len();
                for send in sends {
                    work.push(dispatch.hand_over(send).boxed());
                }
            }
            if settle_at <= Instant::now() {
                settle_at = Instant::now() + settings.every;
                for send in self.claim_uncertain(sender).await {
                    work.push(dispatch.settle(send).map(|()| Next::Unchanged).boxed());
                }
            }
            if claimed > 0 && claimed == room {
                // There may be more; a full batch leaves no room until one is done.
                let done = work.next().await;
                self.note_all(sender, &mut pause, done, &mut work);
                continue;
            }
            tokio::select! {
                done = work.next(), if !work.is_empty() => {
                    self.note_all(sender, &mut pause, done, &mut work);
                }
                () = ready.changed() => {}
                () = sleep_until(Instant::now() + settings.every) => {}
                () = stop.cancelled() => {}
            }
        }
        // What was dispatched is finished. If the process ends first, it is uncertain.
        while work.next().await.is_some() {}
    }

    /// Notes the tasks that are done. Results share commits, so several end together; one
    /// claim then fills their places.
    fn note_all(
        &self,
        sender: &Sender,
        pause: &mut Pause,
        first: Option<Next>,
        work: &mut Tasks<'_>,
    ) {
        let mut done = first;
        while let Some(next) = done {
            self.note(sender, pause, next);
            done = work.next().now_or_never().flatten();
        }
    }

    fn note(&self, sender: &Sender, pause: &mut Pause, next: Next) {
        if next == Next::Pause {
            tracing::error!(sender = %sender.name, "the provider refuses this sender; it is paused");
        }
        pause.note(next);
        let label = SenderLabel::new(sender.name.as_str());
        let is_paused = i64::from(pause.until.is_some());
        self.meters.paused.get_or_create(&label).set(is_paused);
    }

    async fn claim(&self, sender: &Sender, room: usize) -> Vec<ClaimedSend> {
        let lease = sender.lease(self.senders.settings().lease_margin);
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let names = std::slice::from_ref(&sender.name);
        claimed(self.outbox.claim_ready(names, room, lease).await)
    }

    async fn claim_uncertain(&self, sender: &Sender) -> Vec<ClaimedSend> {
        let lease = sender.lease(self.senders.settings().lease_margin);
        let names = std::slice::from_ref(&sender.name);
        claimed(
            self.outbox
                .claim_uncertain(names, SETTLE_BATCH, lease)
                .await,
        )
    }

    /// Ends leases that are over, and measures.
    async fn care(&self, stop: &CancellationToken) {
        let mut measure_at = Instant::now();
        loop {
            match self.outbox.expire_leases().await {
                Ok(expired) if expired.uncertain > 0 => {
                    tracing::warn!(
                        count = expired.uncertain,
                        "sends are uncertain: their process did not report"
                    );
                }
                Ok(_) => {}
                Err(error) => warn(&error, "leases of sends could not be ended"),
            }
            if measure_at <= Instant::now() {
                measure_at = Instant::now() + MEASURE_EVERY;
                if let Ok(counts) = self.outbox.count_sends().await {
                    self.meters.set_states(&counts);
                }
                if let Ok(count) = self.threads.count_handed_over().await {
                    let count = i64::try_from(count).unwrap_or(i64::MAX);
                    self.meters.threads_handed_over.set(count);
                }
            }
            let waiting = sleep(self.senders.settings().every);
            if stop.run_until_cancelled(waiting).await.is_none() {
                return;
            }
        }
    }
}

fn claimed(result: Result<Vec<ClaimedSend>, StoreError>) -> Vec<ClaimedSend> {
    result.unwrap_or_else(|error| {
        warn(&error, "sends could not be claimed");
        Vec::new()
    })
}

fn warn(error: &StoreError, message: &'static str) {
    let error: &dyn std::error::Error = error;
    tracing::warn!(error, message);
}
