//! Polls the sources that can hold mail of an awaited inbox: soon at first, then less and
//! less often, until mail is found or nobody waits any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{InboxId, OverdueInbox};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::deps::Deps;
use crate::inbox_filter::InboxFilter;
use crate::jitter::jittered;

/// How often the database is asked for awaited inboxes.
const INTERVAL: Duration = Duration::from_secs(1);
/// A round takes no longer than this.
const LONGEST_ROUND: Duration = Duration::from_mins(2);
/// The name of this task.
pub(crate) const TASK: &str = "watch for waiting inboxes";
/// The most inboxes in one answer.
const MOST: u32 = 1000;
/// The pause after the first poll for an inbox; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// No pause is longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// When the sources of an awaited inbox are polled next, and how often they were polled.
#[derive(Debug, Clone, Copy)]
struct Turn {
    at: Instant,
    polls: u32,
}

/// The awaited inboxes, and when their sources are polled next.
#[derive(Debug, Default)]
struct Turns(HashMap<InboxId, Turn>);

impl Turns {
    /// The inboxes to poll for now; inboxes that are no longer awaited are dropped.
    fn due<'w>(&mut self, waiting: &'w [OverdueInbox], now: Instant) -> Vec<&'w InboxId> {
        let mut turns = HashMap::with_capacity(waiting.len());
        let mut due = Vec::new();
        for inbox in waiting.iter().map(|left| &left.inbox) {
            let known = self.0.get(inbox).copied();
            let turn = known.unwrap_or(Turn { at: now, polls: 0 });
            let turn = if turn.at <= now {
                due.push(inbox);
                let growth = 2u32.saturating_pow(turn.polls.min(16));
                let pause = FIRST_PAUSE.saturating_mul(growth).min(LONGEST_PAUSE);
                Turn {
                    at: now + jittered(pause),
                    polls: turn.polls + 1,
                }
            } else {
                turn
            };
            turns.insert(inbox.clone(), turn);
        }
        self.0 = turns;
        due
    }
}

/// A source that can be polled for an awaited inbox.
pub(crate) struct PollRequest {
    /// The inboxes whose mail the source can hold.
    pub(crate) inboxes: InboxFilter,
    /// Makes the source loop poll.
    pub(crate) awaited: Arc<Notify>,
}

/// Checks for awaited inboxes until `stop`.
pub(crate) async fn watch(deps: &Deps, sources: &[PollRequest], stop: &CancellationToken) {
    let mut turns = Turns::default();
    loop {
        deps.tasks.round(TASK, LONGEST_ROUND);
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sleep(INTERVAL) => {}
        }
        let patience = deps.settings.patience;
        match deps.polls.overdue_inboxes(patience, MOST).await {
            Ok(waiting) => {
                let due = turns.due(&waiting, Instant::now());
                // Inboxes that did not fit into the answer may be of any source.
                let is_full = waiting.len() >= MOST as usize && !due.is_empty();
                for source in sources {
                    if is_full || due.iter().any(|inbox| source.inboxes.includes(inbox)) {
                        source.awaited.notify_one();
                    }
                }
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "failed to read the awaited inboxes");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overdue(names: &[&str]) -> Vec<OverdueInbox> {
        let inbox = |name: &&str| OverdueInbox {
            inbox: format!("{name}@inbox.test").parse().unwrap(),
            remaining: Duration::from_mins(1),
        };
        names.iter().map(inbox).collect()
    }

    #[test]
    fn no_awaited_inbox_means_no_poll() {
        assert!(Turns::default().due(&[], Instant::now()).is_empty());
    }

    #[test]
    fn first_poll_is_at_once_and_pauses_grow_to_30_seconds() {
        let (mut turns, start) = (Turns::default(), Instant::now());
        let mut polls = Vec::new();
        for second in 0..600 {
            let now = start + Duration::from_secs(second);
            if !turns.due(&overdue(&["a"]), now).is_empty() {
                polls.push(second);
            }
        }
        assert_eq!(polls[0], 0);
        assert!((15..60).contains(&polls.len()), "{polls:?}");
        let pauses: Vec<u64> = polls.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.iter().all(|pause| *pause <= 31), "{pauses:?}");
    }

    #[test]
    fn served_inbox_is_dropped_and_a_new_one_is_polled_at_once() {
        let (mut turns, start) = (Turns::default(), Instant::now());
        let mut due = |names: &[&str]| -> Vec<String> {
            let waiting = overdue(names);
            let due = turns.due(&waiting, start);
            due.into_iter().map(ToString::to_string).collect()
        };
        assert_eq!(due(&["a"]), ["a@inbox.test"]);
        assert!(due(&["a"]).is_empty());
        assert_eq!(due(&["a", "b"]), ["b@inbox.test"]);
        assert!(due(&[]).is_empty());
        assert_eq!(due(&["a"]), ["a@inbox.test"]);
    }
}
