//! Passes over lists that change, repeat or lie about time.

use super::*;

const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_millis(10),
    first: Duration::from_secs(1),
};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn items(times: &[i64]) -> Vec<ListedMail> {
    let item = |time: &i64| ListedMail {
        id: format!("m{time}"),
        arrived_at: Some(at(*time)),
        note: serde_json::Value::Null,
    };
    times.iter().map(item).collect()
}

fn untimed(ids: &[&str]) -> Vec<ListedMail> {
    let item = |id: &&str| ListedMail {
        id: (*id).to_owned(),
        arrived_at: None,
        note: serde_json::Value::Null,
    };
    ids.iter().map(item).collect()
}

fn take_page(cursor: &str, found: Vec<ListedMail>, next: Option<&str>, now: i64) -> Page {
    ListCursor::parse(cursor)
        .take_page(found, next.map(str::to_owned), LOOK_BACK, at(now))
        .expect("a page")
}

fn mark(cursor: &str) -> Option<i64> {
    ListCursor::parse(cursor).mark
}

#[test]
fn mark_moves_only_when_a_pass_is_complete() {
    let first = take_page("", items(&[900, 800]), Some("p2"), 950);
    assert!(first.has_more);
    assert_eq!(mark(&first.cursor), None);
    let second = take_page(&first.cursor, items(&[700]), None, 960);
    assert!(!second.has_more);
    assert_eq!(mark(&second.cursor), Some(900));
}

#[test]
fn pass_ends_at_the_mark_and_reads_the_overlap_again() {
    let whole = take_page("", items(&[900]), None, 950);
    let again = take_page(
        &whole.cursor,
        items(&[1000, 895, 889, 100]),
        Some("p2"),
        1010,
    );
    assert!(!again.has_more, "889 is before the overlap");
    let ids: Vec<&str> = again.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["m1000", "m895"]);
    assert_eq!(mark(&again.cursor), Some(1000));
}

#[test]
fn first_pass_looks_back_by_the_configured_time() {
    let page = take_page("", items(&[5000, 4001, 3999]), Some("p2"), 5000);
    assert_eq!(page.items.len(), 2);
    assert!(!page.has_more);
}

#[test]
fn time_ahead_of_our_clock_counts_as_now() {
    let lie = take_page("", items(&[99_000_000]), None, 1000);
    assert_eq!(mark(&lie.cursor), Some(1000));
    let honest = take_page(&lie.cursor, items(&[1100]), None, 1200);
    assert_eq!(honest.items.len(), 1);
}

#[test]
fn pass_over_a_list_without_times_ends_at_a_known_id() {
    let whole = take_page("", untimed(&["b", "a"]), None, 0);
    let page = take_page(&whole.cursor, untimed(&["d", "c"]), Some("p2"), 1);
    assert!(page.has_more);
    let page = take_page(&page.cursor, untimed(&["b", "a"]), Some("p3"), 2);
    assert!(!page.has_more);
}

#[test]
fn repeated_page_token_is_an_endless_list() {
    let first = take_page("", items(&[900]), Some("p2"), 950);
    let cursor = ListCursor::parse(&first.cursor);
    let again = cursor.take_page(items(&[900]), Some("p2".to_owned()), LOOK_BACK, at(950));
    assert!(matches!(again, Err(PollError::EndlessList)));
}

#[test]
fn unreadable_cursor_starts_from_the_beginning() {
    let empty = take_page("", Vec::new(), None, 500);
    assert!(!empty.has_more);
    assert_eq!(mark(&empty.cursor), None);
    assert_eq!(ListCursor::parse("not json"), ListCursor::default());
}

/// Our clock is a day ahead of the source's.
#[test]
fn source_clock_behind_ours_skips_no_new_mail() {
    let day = 24 * 60 * 60 * 1000;
    let ours = 3 * day;
    let mut cursor = take_page("", items(&[2 * day]), None, ours).cursor;
    for later in 1..5 {
        let new = 2 * day + 100 * later;
        let page = take_page(&cursor, items(&[new]), None, ours + 100 * later);
        assert_eq!(page.items.len(), 1, "{later}");
        cursor = page.cursor;
    }
}

#[test]
fn empty_list_sets_no_mark() {
    // Our clock is 900 ms ahead: more than the overlap, less than the first look back.
    let empty = take_page("", Vec::new(), None, 10_900);
    let page = take_page(&empty.cursor, items(&[10_050]), None, 10_950);
    assert_eq!(page.items.len(), 1);
}

#[test]
fn failed_pass_restarts_with_its_mark_and_a_refused_one_continues() {
    let whole = take_page("", items(&[900]), None, 950);
    let incomplete = take_page(&whole.cursor, items(&[1000]), Some("p2"), 1010).cursor;
    for error in [
        PollError::Unavailable,
        PollError::UnexpectedAnswer,
        PollError::ForeignHost,
        PollError::EndlessList,
    ] {
        let restarted = ListCursor::parse(&ListCursor::after_failure(&incomplete, error));
        assert_eq!(
            (restarted.page, restarted.mark),
            (None, Some(900)),
            "{error}"
        );
    }
    for error in [PollError::Busy(None), PollError::Unauthorized] {
        assert_eq!(
            ListCursor::after_failure(&incomplete, error),
            incomplete,
            "{error}"
        );
    }
    let again = take_page(
        &ListCursor::after_failure(&incomplete, PollError::UnexpectedAnswer),
        items(&[1000, 950]),
        None,
        1020,
    );
    assert_eq!(again.items.len(), 2, "nothing is skipped");
}

/// A round detects a repeated page by its cursor.
#[test]
fn same_page_of_a_list_gives_the_same_cursor() {
    let first = take_page("", items(&[900]), Some("p2"), 950).cursor;
    let second = take_page(&first, items(&[900]), Some("p3"), 951).cursor;
    assert_ne!(first, second);
    let repeated = take_page(&second, items(&[900]), Some("p2"), 952).cursor;
    assert_eq!(repeated, first);
}
