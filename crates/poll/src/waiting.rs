//! Inboxes that are awaited in vain make their sources be asked: soon at first,
//! then ever more seldom, until the mail is found or nobody waits any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{InboxId, LeftWaiting};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

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
    /// Whether anybody's turn has come; those who wait no longer are forgotten.
    fn has_come(&mut self, waiting: &[LeftWaiting], now: Instant) -> bool {
        let mut turns = HashMap::with_capacity(waiting.len());
        let mut has_come = false;
        for inbox in waiting.iter().map(|left| &left.inbox) {
            let known = self.0.get(inbox).copied();
            let turn = known.unwrap_or(Turn { at: now, polls: 0 });
            let turn = if turn.at <= now {
                has_come = true;
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
        has_come
    }
}

/// Looks for awaited inboxes until `stop`.
pub(crate) async fn watch(deps: Arc<Deps>, nudges: Vec<Arc<Notify>>, stop: CancellationToken) {
    let mut turns = Turns::default();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sleep(LOOK) => {}
        }
        let patience = deps.settings.patience;
        match deps.polls.left_waiting(patience, MOST).await {
            Ok(waiting) => {
                if turns.has_come(&waiting, Instant::now()) {
                    for nudge in &nudges {
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

    fn left(names: &[&str]) -> Vec<LeftWaiting> {
        let left = |name: &&str| LeftWaiting {
            inbox: format!("{name}@inbox.test").parse().unwrap(),
            remaining: Duration::from_mins(1),
        };
        names.iter().map(left).collect()
    }

    #[test]
    fn nobody_waits_and_nobody_is_asked() {
        assert!(!Turns::default().has_come(&[], Instant::now()));
    }

    #[test]
    fn the_first_poll_is_at_once_and_the_later_ones_ever_more_seldom() {
        let (mut turns, start) = (Turns::default(), Instant::now());
        let mut polls = Vec::new();
        for second in 0..600 {
            let now = start + Duration::from_secs(second);
            if turns.has_come(&left(&["a"]), now) {
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
        assert!(turns.has_come(&left(&["a"]), start));
        assert!(!turns.has_come(&left(&["a"]), start));
        assert!(turns.has_come(&left(&["a", "b"]), start));
        assert!(!turns.has_come(&[], start));
        assert!(turns.has_come(&left(&["a"]), start));
    }
}
