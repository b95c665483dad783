//! Counts of refused posts, by a clock that is moved.

use pipeline::{Reason, Refusals, SourceName};
use testkit::store_contract::must;

use crate::model::process::Process;

const MINUTE: i64 = 60_000;

#[test]
fn refused_posts_of_an_hour_add_up_on_sqlite() {
    refused_posts_of_an_hour_add_up(Process::on_sqlite());
}

#[test]
fn refused_posts_of_an_hour_add_up_on_postgres() {
    refused_posts_of_an_hour_add_up(Process::on_postgres());
}

fn refused(
    source: Option<&str>,
    reason: &'static str,
    posts: u64,
    seconds_old: Option<i64>,
) -> Refusals {
    let source = source.map(|name| must(name.parse::<SourceName>()));
    let reason = Reason::new(reason);
    Refusals {
        source,
        reason,
        posts,
        seconds_old,
    }
}

/// Counts of the same source and reason add up, the newest age stays, and what is older
/// than an hour is not reported.
fn refused_posts_of_an_hour_add_up(mut process: Process) {
    let log = process.store().refusals;
    let add = |process: &Process, counts: Vec<Refusals>| {
        must(process.run(log.add_refusals(counts)));
    };
    let recent = |process: &Process| must(process.run(log.recent_refusals()));
    let mismatch = |posts| refused(Some("shop"), "signature_mismatch", posts, None);
    let stale = |posts, age| refused(Some("shop"), "stale", posts, Some(age));
    let unknown = |posts| refused(None, "unknown_source", posts, None);
    add(&process, vec![stale(1, 400), mismatch(5)]);
    process.pass(10 * MINUTE);
    add(&process, vec![unknown(3), mismatch(7), stale(1, -900)]);
    let all = [mismatch(12), unknown(3), stale(2, -900)];
    assert_eq!(recent(&process), all);
    process.pass(50 * MINUTE);
    let last = [mismatch(7), unknown(3), stale(1, -900)];
    assert_eq!(recent(&process), last);
    process.pass(10 * MINUTE);
    assert_eq!(recent(&process), []);
    process.end();
}

#[test]
fn refused_posts_take_no_more_rows_with_time_on_sqlite() {
    refused_posts_take_no_more_rows_with_time(Process::on_sqlite());
}

#[test]
fn refused_posts_take_no_more_rows_with_time_on_postgres() {
    refused_posts_take_no_more_rows_with_time(Process::on_postgres());
}

fn refused_posts_take_no_more_rows_with_time(mut process: Process) {
    let log = process.store().refusals;
    for _ in 0..60 {
        let counts = vec![refused(Some("shop"), "stale", 1, Some(400))];
        must(process.run(log.add_refusals(counts.clone())));
        must(process.run(log.add_refusals(counts)));
        process.pass(5 * MINUTE);
    }
    // Two hours have 24 slots, and the current one may be half over.
    assert_eq!(process.count("SELECT count(*) FROM refusals"), 25);
    process.end();
}
