//! One source, for ever: hold it, ask it when there is a reason to, and leave
//! it alone when it wants that. Every source has a task of its own, so that a
//! dead one is nobody else's trouble.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Leased, Reason, SourceLabel, SourceName};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::contract::Pulled;
use crate::meters::Round;
use crate::pull::PullError;
use crate::round::{Held, Stop, Tally, round};
use crate::run::Deps;

/// After a failure a source is left alone for this long, doubled each time.
const FIRST_REST: Duration = Duration::from_secs(1);
/// What a source may ask for by `Retry-After` at most.
const LONGEST_REST: Duration = Duration::from_hours(1);
/// Between two rounds at the least, whatever the source announces.
const BREATH: Duration = Duration::from_millis(200);

/// What made us ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// An inbox is awaited and nothing came.
    Waiting,
    /// It is time.
    Routine,
    /// The source says that there is something.
    News,
}

impl Why {
    fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Routine => "routine",
            Self::News => "news",
        }
    }
}

/// Why the wait for the next round ended.
enum Next {
    Ask(Why),
    Lost,
    Stop,
}

/// When a source is to be asked again.
struct Plan {
    /// The next routine round.
    due: Instant,
    /// No round begins before this, whatever the reason.
    rested: Instant,
    /// Rounds that failed since the last good one.
    failures: u32,
}

/// Tends one source until `stop`. `nudge` says that an inbox is awaited.
pub(crate) async fn tend(
    deps: Arc<Deps>,
    mut pulled: Pulled,
    nudge: Arc<Notify>,
    stop: CancellationToken,
) {
    while let Some(held) = hold(&deps, &pulled.source, &stop).await {
        let plan = Plan::new(&pulled, &held);
        serve(&deps, &mut pulled, held, plan, (&nudge, &stop)).await;
    }
}

/// Waits until the source is ours; nothing when it is time to stop.
async fn hold(deps: &Deps, source: &SourceName, stop: &CancellationToken) -> Option<Held> {
    loop {
        if stop.is_cancelled() {
            return None;
        }
        match deps
            .polls
            .lease(source, deps.poller, deps.settings.lease)
            .await
        {
            Ok(Leased::Yours(lease)) => return Some(Held::new(lease)),
            Ok(Leased::Held) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(%source, error, "the poller could not ask for its source");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return None,
            () = sleep(jittered(deps.settings.beat())) => {}
        }
    }
}

/// Asks the source whenever there is a reason to, for as long as it is ours.
async fn serve(
    deps: &Deps,
    pulled: &mut Pulled,
    mut held: Held,
    mut plan: Plan,
    (nudge, stop): (&Notify, &CancellationToken),
) {
    loop {
        let why = match next(deps, pulled, &mut held, &plan, (nudge, stop)).await {
            Next::Ask(why) => why,
            Next::Lost => return,
            Next::Stop => break,
        };
        let mut unheard = |_: &Tally| {};
        let outcome = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            outcome = round(deps, &mut *pulled.pull, &mut held, &mut unheard) => outcome,
        };
        report(deps, &held, why, &outcome).await;
        plan.after(&outcome, pulled.every, Instant::now());
        if matches!(outcome, Err(Stop::Lost)) {
            return;
        }
    }
    // What is released late is merely held a little longer.
    let _ = deps.polls.release(&held.lease).await;
}

/// Waits for a reason to ask, and keeps the source meanwhile.
async fn next(
    deps: &Deps,
    pulled: &mut Pulled,
    held: &mut Held,
    plan: &Plan,
    (nudge, stop): (&Notify, &CancellationToken),
) -> Next {
    let cursor = held.lease.cursor.clone();
    let mut news = pin!(async {
        sleep_until(plan.rested).await;
        match pulled.pull.news(&cursor).await {
            Ok(()) => {}
            // The next routine round will find the same trouble and report it.
            Err(_) => std::future::pending().await,
        }
    });
    let mut nudged = pin!(async {
        nudge.notified().await;
        sleep_until(plan.rested).await;
    });
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return Next::Stop,
            () = &mut nudged => return Next::Ask(Why::Waiting),
            () = sleep_until(plan.due) => return Next::Ask(Why::Routine),
            () = &mut news => return Next::Ask(Why::News),
            () = sleep(deps.settings.beat()) => {}
        }
        match held.prolong(deps).await {
            // While the database is away the lease runs out by itself.
            Ok(()) | Err(Stop::StoreAway(_) | Stop::Pull(_) | Stop::Mail(_)) => {}
            Err(Stop::Lost) => return Next::Lost,
        }
    }
}

impl Plan {
    /// A source without a webhook is asked at once; another one when its last
    /// round is long enough ago.
    fn new(pulled: &Pulled, held: &Held) -> Self {
        let now = Instant::now();
        let wait = match held.lease.since_last {
            _ if pulled.is_only_way => Duration::ZERO,
            Some(since) => jittered(pulled.every).saturating_sub(since),
            None => jittered(pulled.every),
        };
        Self {
            due: now + wait,
            rested: now,
            failures: 0,
        }
    }

    /// What a round that ended `now` means for the next one.
    fn after(&mut self, outcome: &Result<Tally, Stop>, every: Duration, now: Instant) {
        match outcome {
            Ok(tally) => {
                let wait = if tally.is_cut {
                    BREATH
                } else {
                    jittered(every)
                };
                (self.failures, self.rested, self.due) = (0, now + BREATH, now + wait);
            }
            // The others of its mails are asked for as ever.
            Err(Stop::Mail(_)) => {
                self.failures = 0;
                self.rested = now + FIRST_REST;
                self.due = now + jittered(every).max(FIRST_REST);
            }
            Err(stop) => {
                self.failures = self.failures.saturating_add(1);
                let growth = 2u32.saturating_pow(self.failures.min(16) - 1);
                let rest = FIRST_REST.saturating_mul(growth).min(every);
                let asked = match stop {
                    Stop::Pull(PullError::Busy(Some(wait))) => (*wait).min(LONGEST_REST),
                    _ => Duration::ZERO,
                };
                self.rested = now + jittered(rest).max(asked);
                self.due = self.rested;
            }
        }
    }
}

/// Between half and the whole of a span, so that a crowd does not move as one.
pub(crate) fn jittered(span: Duration) -> Duration {
    span.mul_f64(0.5 + 0.5 * rand::random::<f64>())
}

/// One line and one count for each round, and the row that `doctor` reads.
async fn report(deps: &Deps, held: &Held, why: Why, outcome: &Result<Tally, Stop>) {
    let source = held.lease.source.as_str();
    let (word, failure) = match outcome {
        Ok(tally) => {
            tracing::debug!(source, why = why.word(), ?tally, "source polled");
            (if tally.is_cut { "continued" } else { "done" }, None)
        }
        Err(Stop::Lost) => {
            tracing::warn!(source, "another poller has taken over the source");
            ("lost", None)
        }
        Err(Stop::StoreAway(error)) => {
            let error: &dyn std::error::Error = error;
            tracing::warn!(source, error, "a round ended early: the database is away");
            ("store_away", None)
        }
        Err(Stop::Pull(error) | Stop::Mail(error)) => {
            let reason = error.reason();
            tracing::warn!(source, why = why.word(), %reason, "source cannot be polled");
            ("failed", Some(reason))
        }
    };
    let outcome_word = failure.as_ref().map_or(word, Reason::as_str).to_owned();
    let label = Round {
        source: source.to_owned(),
        why: why.word(),
        outcome: outcome_word,
    };
    deps.meters.rounds.get_or_create(&label).inc();
    let label = SourceLabel::new(source);
    deps.meters
        .failing
        .get_or_create(&label)
        .set(i64::from(failure.is_some()));
    if word == "done" || failure.is_some() {
        // Only for the operator's eyes: the rows are committed already.
        let _ = deps.polls.round_ended(&held.lease, failure).await;
    }
}

#[cfg(test)]
mod tests;
