//! Inboxes that are awaited in vain make the sources be asked that may have their
//! mail: soon at first, then ever more seldom, until the mail is found or nobody
//! waits any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{InboxId, OverdueInbox};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::carried::Carried;
use crate::run::Deps;
use crate::tend::jittered;

/// How often the database is asked who waits.
const LOOK: Duration = Duration::from_secs(1);
/// Inboxes that are looked at in one go.
const MOST: u32 = 1000;
/// The pause after the first poll for an inbox; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// No pause is longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// When an inbox is polled for next, and how often it was.
#[derive(Debug, Clone, Copy)]
struct Turn {
    at: Instant,
    polls: u32,
}

/// Who waits, and when their sources are asked next.
#[derive(Debug, Default)]
struct Turns(HashMap<InboxId, Turn>);

impl Turns {
    /// Whose turn has come; those who wait no longer are forgotten.
    fn come<'w>(&mut self, waiting: &'w [OverdueInbox], now: Instant) -> Vec<&'w InboxId> {
        let mut turns = HashMap::with_capacity(waiting.len());
        let mut come = Vec::new();
        for inbox in waiting.iter().map(|left| &left.inbox) {
            let known = self.0.get(inbox).copied();
            let turn = known.unwrap_or(Turn { at: now, polls: 0 });
            let turn = if turn.at <= now {
                come.push(inbox);
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
        come
    }
}

/// A source, as whoever looks for those who wait sees it: whose mail it may have,
/// and what makes it be asked.
pub(crate) type Nudge = (Carried, Arc<Notify>);

/// Looks for awaited inboxes until `stop`.
pub(crate) async fn watch(deps: Arc<Deps>, nudges: Vec<Nudge>, stop: CancellationToken) {
    let mut turns = Turns::default();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sleep(LOOK) => {}
        }
        let patience = deps.settings.patience;
        match deps.polls.overdue_inboxes(patience, MOST).await {
            Ok(waiting) => {
                let come = turns.come(&waiting, Instant::now());
                // Those who did not fit into the answer may wait for any source.
                let is_cut = waiting.len() >= MOST as usize && !come.is_empty();
                for (carried, nudge) in &nudges {
                    if is_cut || come.iter().any(|inbox| carried.has(inbox)) {
                        nudge.notify_one();
                    }
                }
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "the poller could not see who waits");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(names: &[&str]) -> Vec<OverdueInbox> {
        let left = |name: &&str| OverdueInbox {
            inbox: format!("{name}@inbox.test").parse().unwrap(),
            remaining: Duration::from_mins(1),
        };
        names.iter().map(left).collect()
    }

    #[test]
    fn nobody_waits_and_nobody_is_asked() {
        assert!(Turns::default().come(&[], Instant::now()).is_empty());
    }

    #[test]
    fn the_first_poll_is_at_once_and_the_later_ones_ever_more_seldom() {
        let (mut turns, start) = (Turns::default(), Instant::now());
        let mut polls = Vec::new();
        for second in 0..600 {
            let now = start + Duration::from_secs(second);
            if !turns.come(&left(&["a"]), now).is_empty() {
                polls.push(second);
            }
        }
        assert_eq!(polls[0], 0);
        assert!((15..60).contains(&polls.len()), "{polls:?}");
        let pauses: Vec<u64> = polls.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.iter().all(|pause| *pause <= 31), "{pauses:?}");
    }

    #[test]
    fn whoever_is_found_is_forgotten_and_another_one_begins_at_once() {
        let (mut turns, start) = (Turns::default(), Instant::now());
        let mut come = |names: &[&str]| -> Vec<String> {
            let waiting = left(names);
            let come = turns.come(&waiting, start);
            come.into_iter().map(ToString::to_string).collect()
        };
        assert_eq!(come(&["a"]), ["a@inbox.test"]);
        assert!(come(&["a"]).is_empty());
        assert_eq!(come(&["a", "b"]), ["b@inbox.test"]);
        assert!(come(&[]).is_empty());
        assert_eq!(come(&["a"]), ["a@inbox.test"]);
    }
}
