//! The schedule of a source after successes, failures and refusals.

use super::*;
use crate::inbox_filter::InboxFilter;
use crate::scripted_source::{self, ScriptedSource, TestPoller, page};

const EVERY: Duration = Duration::from_mins(5);

fn schedule(now: Instant) -> Schedule {
    Schedule {
        due: now,
        not_before: now,
        failures: 0,
    }
}

/// The pause after this many failures in a row.
fn pause(error: PollError, failures: u32) -> Duration {
    let now = Instant::now();
    let mut schedule = schedule(now);
    for _ in 0..failures {
        schedule.after(&Err(Stop::Source(error)), EVERY, now);
    }
    assert_eq!(schedule.due, schedule.not_before, "it is polled again then");
    schedule.not_before - now
}

#[test]
fn retry_after_is_respected_up_to_an_hour() {
    let busy = |seconds| PollError::Busy(Some(Duration::from_secs(seconds)));
    assert_eq!(pause(busy(90), 1), Duration::from_secs(90));
    assert_eq!(pause(busy(3599), 1), Duration::from_secs(3599));
    assert_eq!(pause(busy(36_000), 1), LONGEST_PAUSE);
    assert_eq!(pause(busy(u64::MAX), 1), LONGEST_PAUSE);
    assert!(
        pause(busy(0), 1) >= FIRST_PAUSE / 2,
        "never polled again at once"
    );
}

#[test]
fn pause_grows_with_failures_up_to_the_routine_interval() {
    let pauses: Vec<Duration> = (1..20).map(|n| pause(PollError::Unavailable, n)).collect();
    assert!(pauses[0] <= FIRST_PAUSE);
    assert!(pauses[4] > pauses[0] * 4, "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause <= EVERY), "{pauses:?}");
    assert!(pauses[18] >= EVERY / 2, "{pauses:?}");
}

#[test]
fn failed_mails_do_not_lengthen_the_pause() {
    let now = Instant::now();
    let mut schedule = schedule(now);
    for _ in 0..20 {
        schedule.after(&Err(Stop::Mail(PollError::Unavailable)), EVERY, now);
    }
    assert_eq!(schedule.not_before - now, FIRST_PAUSE);
    assert!((EVERY / 2..=EVERY).contains(&(schedule.due - now)));
}

#[test]
fn successful_round_resets_the_pause() {
    let now = Instant::now();
    let mut schedule = schedule(now);
    schedule.after(&Err(Stop::Source(PollError::Unavailable)), EVERY, now);
    schedule.after(&Ok(Tally::default()), EVERY, now);
    assert_eq!(schedule.failures, 0);
    assert_eq!(schedule.not_before - now, LEAST_PAUSE);
    assert!((EVERY / 2..=EVERY).contains(&(schedule.due - now)));
    let is_incomplete = true;
    let cut = Tally {
        is_incomplete,
        ..Tally::default()
    };
    schedule.after(&Ok(cut), EVERY, now);
    assert_eq!(schedule.due - now, LEAST_PAUSE, "a backlog is continued");
}

/// An awaited inbox does not poll a source that asked for a pause.
#[tokio::test]
async fn awaited_inbox_does_not_shorten_a_pause() {
    let test = TestPoller::new().await;
    let mut held = HeldLease::new(test.lease().await);
    let mut source = PolledSource {
        source: scripted_source::source(),
        client: Box::new(ScriptedSource::listing(|_| Ok(page(&[], "", false)))),
        every: EVERY,
        inboxes: InboxFilter::default(),
        is_poll_only: false,
    };
    let began = Instant::now();
    let mut schedule = schedule(began);
    let wanted = Duration::from_millis(1200);
    let busy = Stop::Source(PollError::Busy(Some(wanted)));
    schedule.after(&Err(busy), EVERY, began);
    schedule.due += EVERY;
    let (awaited, stop) = (Notify::new(), CancellationToken::new());
    awaited.notify_one();
    let signals = Signals {
        awaited: &awaited,
        stop: &stop,
    };
    let why = next(&test.deps, &mut source, &mut held, &schedule, signals).await;
    assert!(matches!(why, Next::Poll(Why::Waiting)));
    assert!(began.elapsed() >= wanted, "{:?}", began.elapsed());
}
