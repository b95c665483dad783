use super::*;

const REACH: Reach = Reach {
    overlap: Duration::from_millis(10),
    lookback: Duration::from_secs(1),
};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn items(times: &[i64]) -> Vec<Item> {
    let item = |time: &i64| Item {
        id: format!("m{time}"),
        arrived_at: Some(at(*time)),
        note: serde_json::Value::Null,
    };
    times.iter().map(item).collect()
}

fn nameless(ids: &[&str]) -> Vec<Item> {
    let item = |id: &&str| Item {
        id: (*id).to_owned(),
        arrived_at: None,
        note: serde_json::Value::Null,
    };
    ids.iter().map(item).collect()
}

fn step(cursor: &str, found: Vec<Item>, next: Option<&str>, now: i64) -> Page {
    let walk = Walk::parse(cursor);
    walk.step(found, next.map(str::to_owned), REACH, at(now))
        .expect("a page")
}

fn mark(cursor: &str) -> Option<i64> {
    Walk::parse(cursor).mark
}

#[test]
fn the_mark_moves_only_at_the_end_of_a_walk() {
    let first = step("", items(&[900, 800]), Some("p2"), 950);
    assert!(first.has_more);
    assert_eq!(mark(&first.cursor), None);
    let second = step(&first.cursor, items(&[700]), None, 960);
    assert!(!second.has_more);
    assert_eq!(mark(&second.cursor), Some(900));
}

#[test]
fn a_walk_ends_where_everything_was_read_and_reads_some_time_again() {
    let whole = step("", items(&[900]), None, 950);
    let again = step(
        &whole.cursor,
        items(&[1000, 895, 889, 100]),
        Some("p2"),
        1010,
    );
    assert!(!again.has_more, "889 lies behind the overlap");
    let ids: Vec<&str> = again.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["m1000", "m895"]);
    assert_eq!(mark(&again.cursor), Some(1000));
}

#[test]
fn the_first_walk_goes_back_as_far_as_webhooks_are_tried_again() {
    let page = step("", items(&[5000, 4001, 3999]), Some("p2"), 5000);
    assert_eq!(page.items.len(), 2);
    assert!(!page.has_more);
}

#[test]
fn a_time_ahead_of_our_clock_hides_nothing() {
    let lie = step("", items(&[99_000_000]), None, 1000);
    assert_eq!(mark(&lie.cursor), Some(1000));
    let honest = step(&lie.cursor, items(&[1100]), None, 1200);
    assert_eq!(honest.items.len(), 1);
}

#[test]
fn a_list_without_times_ends_at_what_is_known() {
    let whole = step("", nameless(&["b", "a"]), None, 0);
    let page = step(&whole.cursor, nameless(&["d", "c"]), Some("p2"), 1);
    assert!(page.has_more);
    let page = step(&page.cursor, nameless(&["b", "a"]), Some("p3"), 2);
    assert!(!page.has_more);
}

#[test]
fn the_same_page_for_ever_is_noticed() {
    let first = step("", items(&[900]), Some("p2"), 950);
    let walk = Walk::parse(&first.cursor);
    let again = walk.step(items(&[900]), Some("p2".to_owned()), REACH, at(950));
    assert!(matches!(again, Err(PullError::Endless)));
}

#[test]
fn an_empty_list_and_a_cursor_that_cannot_be_read_begin_anew() {
    let empty = step("", Vec::new(), None, 500);
    assert!(!empty.has_more);
    assert_eq!(mark(&empty.cursor), None);
    assert_eq!(Walk::parse("not json"), Walk::default());
}

/// Our clock is a day ahead of the source's, or the source's behind by as much.
#[test]
fn a_clock_that_is_behind_ours_hides_nothing_that_comes_after_the_first_walk() {
    let day = 24 * 60 * 60 * 1000;
    let ours = 3 * day;
    let mut cursor = step("", items(&[2 * day]), None, ours).cursor;
    for later in 1..5 {
        let new = 2 * day + 100 * later;
        let page = step(&cursor, items(&[new]), None, ours + 100 * later);
        assert_eq!(page.items.len(), 1, "{later}");
        cursor = page.cursor;
    }
}

#[test]
fn an_empty_list_says_nothing_of_the_sources_clock() {
    // Ours is 900 ms ahead, more than what is read again and less than what the
    // first walk goes back for.
    let empty = step("", Vec::new(), None, 10_900);
    let page = step(&empty.cursor, items(&[10_050]), None, 10_950);
    assert_eq!(page.items.len(), 1);
}

#[test]
fn a_walk_that_fails_begins_anew_with_its_mark_and_one_that_must_wait_goes_on() {
    let whole = step("", items(&[900]), None, 950);
    let under_way = step(&whole.cursor, items(&[1000]), Some("p2"), 1010).cursor;
    for error in [
        PullError::Away,
        PullError::Odd,
        PullError::LeadsAway,
        PullError::Endless,
    ] {
        let anew = Walk::parse(&Walk::after_failure(&under_way, error));
        assert_eq!((anew.at, anew.mark), (None, Some(900)), "{error}");
    }
    for error in [PullError::Busy(None), PullError::Unauthorised] {
        assert_eq!(Walk::after_failure(&under_way, error), under_way, "{error}");
    }
    let again = step(
        &Walk::after_failure(&under_way, PullError::Odd),
        items(&[1000, 950]),
        None,
        1020,
    );
    assert_eq!(again.items.len(), 2, "nothing is passed by");
}

/// By this a round notices that it goes around in circles.
#[test]
fn the_same_place_of_a_list_is_the_same_cursor() {
    let first = step("", items(&[900]), Some("p2"), 950).cursor;
    let second = step(&first, items(&[900]), Some("p3"), 951).cursor;
    assert_ne!(first, second);
    let around = step(&second, items(&[900]), Some("p2"), 952).cursor;
    assert_eq!(around, first);
}
