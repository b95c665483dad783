//! The loop of one source: take its lease, poll it when there is a reason to, and pause
//! when it asks for that. Every source has its own task, so that a broken source does not
//! affect the others.

pub(crate) mod round;

use std::pin::pin;
use std::time::Duration;

use pipeline::{Leased, Reason, SourceLabel, SourceName};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::client::PollError;
use crate::deps::Deps;
use crate::jitter::jittered;
use crate::meters::Round;
use crate::polled_sources::PolledSource;
use round::{HeldLease, Stop, Tally, note_round, round};

/// The pause after the first failure; it doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause that a source may ask for by `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// The shortest pause between two rounds.
const LEAST_PAUSE: Duration = Duration::from_millis(200);

/// Why a source is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// An inbox is awaited and no mail came.
    Waiting,
    /// A routine poll is due.
    Routine,
    /// The source announces new mail.
    Announced,
}

impl Why {
    fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Routine => "routine",
            Self::Announced => "announced",
        }
    }
}

/// Why the wait for the next round ended.
enum Next {
    Poll(Why),
    Lost,
    Stop,
}

/// What ends the wait for the next round.
#[derive(Clone, Copy)]
struct Signals<'a> {
    /// An inbox of this source is awaited.
    awaited: &'a Notify,
    stop: &'a CancellationToken,
}

/// When a source is polled next.
struct Schedule {
    /// When the next routine round is due.
    due: Instant,
    /// No round begins before this, whatever the reason.
    not_before: Instant,
    /// Failed rounds since the last successful one.
    failures: u32,
}

/// Polls one source until `stop`. `awaited` is notified when an inbox is awaited.
pub(crate) async fn source_loop(
    deps: &Deps,
    polled: &mut PolledSource,
    awaited: &Notify,
    stop: &CancellationToken,
) {
    let signals = Signals { awaited, stop };
    while let Some(held) = take_lease(deps, &polled.source, stop).await {
        let schedule = Schedule::new(polled, &held);
        poll_while_held(deps, polled, held, schedule, signals).await;
    }
}

/// Waits for the lease of the source; `None` when it is time to stop.
async fn take_lease(
    deps: &Deps,
    source: &SourceName,
    stop: &CancellationToken,
) -> Option<HeldLease> {
    loop {
        if stop.is_cancelled() {
            return None;
        }
        note_round(deps, source);
        match deps
            .polls
            .lease(source, deps.poller, deps.settings.lease)
            .await
        {
            Ok(Leased::Yours(lease)) => return Some(HeldLease::new(lease)),
            Ok(Leased::Held) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(%source, error, "failed to request the lease of a source");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return None,
            () = sleep(jittered(deps.settings.renewal_interval())) => {}
        }
    }
}

/// Polls the source whenever there is a reason to, until the lease is lost.
async fn poll_while_held(
    deps: &Deps,
    polled: &mut PolledSource,
    mut held: HeldLease,
    mut schedule: Schedule,
    signals: Signals<'_>,
) {
    loop {
        let why = match next(deps, polled, &mut held, &schedule, signals).await {
            Next::Poll(why) => why,
            Next::Lost => return,
            Next::Stop => break,
        };
        if why == Why::Waiting {
            // The wait has consumed the notification. It is repeated, because the round
            // checks it, too.
            signals.awaited.notify_one();
        }
        let mut progress = |_: &Tally| {};
        let outcome = tokio::select! {
            biased;
            () = signals.stop.cancelled() => break,
            outcome = round(
                deps,
                &mut *polled.client,
                &mut held,
                signals.awaited,
                &mut progress,
            ) => outcome,
        };
        report(deps, &held, why, &outcome).await;
        schedule.after(&outcome, polled.every, Instant::now());
        if matches!(outcome, Err(Stop::Lost)) {
            return;
        }
    }
    // If the release fails, the lease expires by itself.
    let _ = deps.polls.release(&held.lease).await;
}

/// Waits for a reason to poll, and renews the lease meanwhile.
async fn next(
    deps: &Deps,
    polled: &mut PolledSource,
    held: &mut HeldLease,
    schedule: &Schedule,
    signals: Signals<'_>,
) -> Next {
    let cursor = held.lease.cursor.clone();
    let mut announced = pin!(async {
        sleep_until(schedule.not_before).await;
        match polled.client.wait_for_mail(&cursor, deps.clock.now()).await {
            Ok(()) => {}
            // The next routine round fails in the same way and reports it.
            Err(_) => std::future::pending().await,
        }
    });
    let mut awaited = pin!(async {
        signals.awaited.notified().await;
        sleep_until(schedule.not_before).await;
    });
    loop {
        tokio::select! {
            biased;
            () = signals.stop.cancelled() => return Next::Stop,
            () = &mut awaited => return Next::Poll(Why::Waiting),
            () = sleep_until(schedule.due) => return Next::Poll(Why::Routine),
            () = &mut announced => return Next::Poll(Why::Announced),
            () = sleep(deps.settings.renewal_interval()) => {}
        }
        match held.renew(deps).await {
            // While the database is unavailable, the lease expires by itself.
            Ok(()) | Err(Stop::StoreUnavailable(_) | Stop::Source(_) | Stop::Mail(_)) => {}
            Err(Stop::Lost) => return Next::Lost,
        }
    }
}

impl Schedule {
    /// A source without a webhook is polled at once; another one when its last round is
    /// long enough ago.
    fn new(polled: &PolledSource, held: &HeldLease) -> Self {
        let now = Instant::now();
        let wait = match held.lease.since_last {
            _ if polled.is_poll_only => Duration::ZERO,
            Some(since) => jittered(polled.every).saturating_sub(since),
            None => jittered(polled.every),
        };
        Self {
            due: now + wait,
            not_before: now,
            failures: 0,
        }
    }

    /// Sets the next round, after one that ended `now`.
    fn after(&mut self, outcome: &Result<Tally, Stop>, every: Duration, now: Instant) {
        match outcome {
            Ok(tally) => {
                let wait = if tally.is_incomplete {
                    LEAST_PAUSE
                } else {
                    jittered(every)
                };
                (self.failures, self.not_before, self.due) = (0, now + LEAST_PAUSE, now + wait);
            }
            // Its other mails are polled as usual.
            Err(Stop::Mail(_)) => {
                self.failures = 0;
                self.not_before = now + FIRST_PAUSE;
                self.due = now + jittered(every).max(FIRST_PAUSE);
            }
            Err(stop) => {
                self.failures = self.failures.saturating_add(1);
                let growth = 2u32.saturating_pow(self.failures.min(16) - 1);
                let pause = FIRST_PAUSE.saturating_mul(growth).min(every);
                let requested = match stop {
                    Stop::Source(PollError::Busy(Some(wait))) => (*wait).min(LONGEST_PAUSE),
                    _ => Duration::ZERO,
                };
                self.not_before = now + jittered(pause).max(requested);
                self.due = self.not_before;
            }
        }
    }
}

/// Logs and counts a round, and updates the row that `doctor` reads.
async fn report(deps: &Deps, held: &HeldLease, why: Why, outcome: &Result<Tally, Stop>) {
    let source = held.lease.source.as_str();
    let (label, failure) = match outcome {
        Ok(tally) => {
            let (cause, recorded) = (why.label(), tally.recorded);
            tracing::debug!(source, cause, recorded, "source polled");
            let label = if tally.is_incomplete {
                "continued"
            } else {
                "done"
            };
            (label, None)
        }
        Err(Stop::Lost) => {
            tracing::warn!(source, "another poller holds the lease of this source now");
            ("lost", None)
        }
        Err(Stop::StoreUnavailable(error)) => {
            let error: &dyn std::error::Error = error;
            tracing::warn!(
                source,
                error,
                "polling stopped: the database is unavailable"
            );
            ("database_unavailable", None)
        }
        Err(Stop::Source(error) | Stop::Mail(error)) => {
            let reason = error.reason();
            tracing::warn!(source, cause = why.label(), %reason, "failed to poll the source");
            ("failed", Some(reason))
        }
    };
    let result = failure.as_ref().map_or(label, Reason::as_str).to_owned();
    let labels = Round {
        source: source.to_owned(),
        cause: why.label(),
        outcome: result,
    };
    deps.meters.rounds.get_or_create(&labels).inc();
    let of_source = SourceLabel::new(source);
    deps.meters
        .failing
        .get_or_create(&of_source)
        .set(i64::from(failure.is_some()));
    if label == "done" || failure.is_some() {
        // Only informs the operator; the deliveries are committed already.
        let _ = deps.polls.round_ended(&held.lease, failure).await;
    }
}

#[cfg(test)]
mod tests;
