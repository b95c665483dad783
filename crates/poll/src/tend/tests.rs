use super::*;
use crate::carried::Carried;
use crate::desk::{Desk, Script, page, source};

const EVERY: Duration = Duration::from_mins(5);

fn plan(now: Instant) -> Plan {
    Plan {
        due: now,
        rested: now,
        failures: 0,
    }
}

/// For how long a source is left alone after this many failures in a row.
fn rest(error: PullError, failures: u32) -> Duration {
    let now = Instant::now();
    let mut plan = plan(now);
    for _ in 0..failures {
        plan.after(&Err(Stop::Pull(error)), EVERY, now);
    }
    assert_eq!(plan.due, plan.rested, "it is asked again then");
    plan.rested - now
}

#[test]
fn a_source_is_left_alone_for_as_long_as_it_wants_but_not_for_ever() {
    let busy = |seconds| PullError::Busy(Some(Duration::from_secs(seconds)));
    assert_eq!(rest(busy(90), 1), Duration::from_secs(90));
    assert_eq!(rest(busy(3599), 1), Duration::from_secs(3599));
    assert_eq!(rest(busy(36_000), 1), LONGEST_REST);
    assert_eq!(rest(busy(u64::MAX), 1), LONGEST_REST);
    assert!(rest(busy(0), 1) >= FIRST_REST / 2, "at once is too soon");
}

#[test]
fn a_source_that_fails_is_asked_ever_more_seldom_and_never_less_than_usual() {
    let rests: Vec<Duration> = (1..20).map(|n| rest(PullError::Away, n)).collect();
    assert!(rests[0] <= FIRST_REST);
    assert!(rests[4] > rests[0] * 4, "{rests:?}");
    assert!(rests.iter().all(|rest| *rest <= EVERY), "{rests:?}");
    assert!(rests[18] >= EVERY / 2, "{rests:?}");
}

#[test]
fn mails_that_cannot_be_had_do_not_make_whoever_waits_for_another_one_wait() {
    let now = Instant::now();
    let mut plan = plan(now);
    for _ in 0..20 {
        plan.after(&Err(Stop::Mail(PullError::Away)), EVERY, now);
    }
    assert_eq!(plan.rested - now, FIRST_REST);
    assert!((EVERY / 2..=EVERY).contains(&(plan.due - now)));
}

#[test]
fn a_good_round_ends_the_rest() {
    let now = Instant::now();
    let mut plan = plan(now);
    plan.after(&Err(Stop::Pull(PullError::Away)), EVERY, now);
    plan.after(&Ok(Tally::default()), EVERY, now);
    assert_eq!(plan.failures, 0);
    assert_eq!(plan.rested - now, BREATH);
    assert!((EVERY / 2..=EVERY).contains(&(plan.due - now)));
    let is_cut = true;
    let cut = Tally {
        is_cut,
        ..Tally::default()
    };
    plan.after(&Ok(cut), EVERY, now);
    assert_eq!(plan.due - now, BREATH, "a backlog is gone on with");
}

/// Whoever waits for mail does not make a source be asked that wants its rest.
#[tokio::test]
async fn an_awaited_inbox_does_not_cut_a_rest_short() {
    let desk = Desk::new().await;
    let mut held = Held::new(desk.lease().await);
    let mut pulled = Pulled {
        source: source(),
        pull: Box::new(Script::listing(|_| Ok(page(&[], "", false)))),
        every: EVERY,
        carried: Carried::default(),
        is_only_way: false,
    };
    let began = Instant::now();
    let mut plan = plan(began);
    let wanted = Duration::from_millis(1200);
    let busy = Stop::Pull(PullError::Busy(Some(wanted)));
    plan.after(&Err(busy), EVERY, began);
    plan.due += EVERY;
    let (nudge, stop) = (Notify::new(), CancellationToken::new());
    nudge.notify_one();
    let why = next(&desk.deps, &mut pulled, &mut held, &plan, (&nudge, &stop)).await;
    assert!(matches!(why, Next::Ask(Why::Waiting)));
    assert!(began.elapsed() >= wanted, "{:?}", began.elapsed());
}
