//! Whether mail is processed, and whether the database's clock agrees with this one.

use std::time::Duration;

use pipeline::{Backlog, Clock, SystemClock, Timestamp};
use store::Store;

use super::Check;

/// A difference of clocks that makes expiries and signatures wrong.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(30);
/// Mail that is due for longer than this is taken by no worker.
const OVERDUE: Duration = Duration::from_mins(1);

/// Checks this machine's clock against the database's, and the deliveries that wait.
pub(super) async fn deliveries(store: &Store) -> Vec<Check> {
    match store.deliveries.backlog().await {
        Ok(backlog) => vec![clock(SystemClock.now(), backlog.at), waiting(&backlog)],
        Err(_) => Vec::new(),
    }
}

fn clock(now: Timestamp, at: Timestamp) -> Check {
    let (ahead, behind) = (now.since(at), at.since(now));
    let apart = ahead.max(behind);
    if apart > CLOCK_TOLERANCE {
        let direction = if ahead > behind { "ahead of" } else { "behind" };
        return Check::failed(
            "clock",
            format!(
                "{} s {direction} the database's clock; synchronise both with NTP",
                apart.as_secs()
            ),
        );
    }
    Check::ok(
        "clock",
        format!("{} ms off the database's clock", apart.as_millis()),
    )
}

fn waiting(backlog: &Backlog) -> Check {
    let (oldest, overdue) = (backlog.oldest.as_secs(), backlog.overdue.as_secs());
    let detail = format!(
        "{} unfinished, the oldest for {oldest} s, overdue for {overdue} s; {} dead letters",
        backlog.unfinished, backlog.dead_letters
    );
    if backlog.overdue > OVERDUE {
        let next = "no worker takes mail that is due; start one with `maillatch worker` or \
                    `maillatch up`, or read its log";
        return Check::failed("deliveries", format!("{detail}; {next}"));
    }
    if backlog.dead_letters > 0 {
        let next = "see them with: maillatch failures list";
        return Check::warning("deliveries", format!("{detail}; {next}"));
    }
    Check::ok("deliveries", detail)
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    #[test]
    fn mail_that_no_worker_takes_fails() {
        let backlog = |overdue, dead_letters| Backlog {
            at: Timestamp::from_millis(0),
            unfinished: 1,
            oldest: Duration::from_mins(5),
            overdue: Duration::from_secs(overdue),
            dead_letters,
        };
        assert_eq!(waiting(&backlog(60, 0)).health, Health::Ok);
        assert_eq!(waiting(&backlog(60, 1)).health, Health::Warning);
        let late = waiting(&backlog(61, 1));
        assert_eq!(late.health, Health::Failed);
        assert!(late.detail.contains("maillatch worker"), "{}", late.detail);
    }
}
