//! Rounds over scripted sources.

use std::sync::Arc;

use pipeline::{Clock, StorageQuota, SystemClock, Timestamp};

use super::*;
use crate::client::FoundMail;
use crate::scripted_source::{ScriptedSource, TestPoller, listed, mail, page, source};

/// A list without an end, with one new mail on every page.
fn endless() -> ScriptedSource {
    ScriptedSource::listing(|cursor| {
        let at: u64 = cursor.parse().unwrap_or(0);
        Ok(page(&[&format!("m{at}")], &(at + 1).to_string(), true))
    })
}

fn is_endless(outcome: &Result<Tally, Stop>) -> bool {
    matches!(outcome, Err(Stop::Source(PollError::EndlessList)))
}

#[tokio::test]
async fn endless_list_of_new_mails_is_read_five_pages_a_round() {
    let (poller, mut source) = (TestPoller::new().await, endless());
    let tally = poller.round(&mut source).await.unwrap();
    assert_eq!((tally.listed, tally.recorded), (5, 5));
    assert!(tally.is_incomplete);
    assert_eq!(poller.lease().await.cursor, "5");
    poller.round(&mut source).await.unwrap();
    assert_eq!(source.asked.len(), 10);
    assert_eq!(poller.rows().await, 10);
}

#[tokio::test]
async fn endless_list_without_new_mails_is_an_error() {
    let poller = TestPoller::new().await;
    let mut source = ScriptedSource::listing(|cursor| {
        let at: u64 = cursor.parse().unwrap_or(0);
        Ok(page(&["always the same"], &(at + 1).to_string(), true))
    });
    // In the first round one mail is new.
    assert!(poller.round(&mut source).await.unwrap().is_incomplete);
    assert!(is_endless(&poller.round(&mut source).await));
    assert_eq!(source.asked.len(), 10, "five pages in a round");
    assert_eq!(poller.rows().await, 1);
}

#[tokio::test]
async fn repeated_cursor_ends_the_round_and_keeps_the_mails() {
    let poller = TestPoller::new().await;
    let mut source = ScriptedSource::listing(|cursor| {
        Ok(match cursor {
            "b" => page(&["m2"], "a", true),
            _ => page(&["m1"], "b", true),
        })
    });
    source.restart = Some("");
    assert!(is_endless(&poller.round(&mut source).await));
    assert_eq!(source.asked, ["", "b", "a"]);
    assert_eq!(poller.rows().await, 2);
    assert_eq!(
        poller.lease().await.cursor,
        "",
        "the next round starts again"
    );
}

#[tokio::test]
async fn unchanged_cursor_is_an_endless_list() {
    let poller = TestPoller::new().await;
    let mut source = ScriptedSource::listing(|_| Ok(page(&["m1"], "", true)));
    assert!(is_endless(&poller.round(&mut source).await));
    assert_eq!(source.asked.len(), 1);
}

#[tokio::test]
async fn full_storage_leaves_the_mail_at_the_source() {
    let mut poller = TestPoller::new().await;
    // One mail takes more than three quarters of this.
    poller.deps.quota = Arc::new(StorageQuota::new(StorageQuota::ROW));
    let mut source = endless();
    let is_full =
        |outcome: Result<Tally, Stop>| matches!(outcome, Err(Stop::Source(PollError::StorageFull)));
    assert!(is_full(poller.round(&mut source).await));
    assert_eq!(poller.rows().await, 1);
    assert!(is_full(poller.round(&mut source).await));
    assert_eq!(source.asked.len(), 1, "nothing is listed");
    poller.deps.quota.set_unfinished([]);
    assert!(is_full(poller.round(&mut source).await));
    assert_eq!(source.asked, ["", "1"]);
    assert_eq!(poller.rows().await, 2);
}

#[tokio::test]
async fn newest_mail_is_recorded_first_when_somebody_waits() {
    let (poller, mut source) = (TestPoller::new().await, endless());
    source.newest = Ok(vec!["newest", "m4"]);
    poller.round(&mut source).await.unwrap();
    assert_eq!(
        source.fetched,
        ["m0", "m1", "m2", "m3", "m4"],
        "nobody waits"
    );
    let (poller, awaited) = (TestPoller::new().await, Notify::new());
    source.fetched.clear();
    awaited.notify_one();
    let tally = poller.round_for(&mut source, &awaited).await.unwrap();
    assert_eq!(source.fetched, ["newest", "m4", "m0", "m1", "m2", "m3"]);
    assert_eq!(tally.recorded, 6, "each mail once");
    assert_eq!(poller.lease().await.cursor, "5", "nothing is skipped");
}

#[tokio::test]
async fn round_ends_when_its_time_is_over() {
    let (mut poller, mut source) = (TestPoller::new().await, endless());
    poller.deps.settings.round_budget = Duration::ZERO;
    let tally = poller.round(&mut source).await.unwrap();
    assert!(tally.is_incomplete);
    assert!(source.asked.is_empty());
}

#[tokio::test]
async fn too_large_mail_is_skipped_and_counted() {
    let poller = TestPoller::new().await;
    let mut source = ScriptedSource::listing(|cursor| {
        Ok(match cursor {
            "" => page(&["m1", "huge", "m2"], "1", true),
            _ => page(&["m3"], "2", false),
        })
    })
    .fetching(|item| {
        Some(Ok(match item.id.as_str() {
            "huge" => Fetched::TooLarge,
            _ => mail(item),
        }))
    });
    let tally = poller.round(&mut source).await.unwrap();
    assert_eq!(
        (tally.listed, tally.recorded, tally.is_incomplete),
        (4, 3, false)
    );
    assert_eq!(
        (poller.skipped("too_large"), poller.skipped("gone")),
        (1, 0)
    );
    assert_eq!(poller.lease().await.cursor, "2");
    assert_eq!(poller.notified.0.lock().unwrap().len(), 3);
}

/// However many large mails a page has, only a few are in memory at once.
#[tokio::test]
async fn large_mails_are_recorded_before_the_page_ends() {
    let mut poller = TestPoller::new().await;
    // A slow disk must not make the fifth mail time out first.
    poller.deps.settings.answer_budget = Duration::from_mins(10);
    let ids: Vec<String> = (0..5).map(|n| format!("m{n}")).collect();
    let mut source = ScriptedSource::listing(move |_| {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        Ok(page(&ids, "1", false))
    })
    .fetching(|item| {
        // Four mails fill the batch, so they are recorded; the fifth never answers.
        let message = vec![b'x'; BATCH_BYTES / 4];
        let found = FoundMail::raw(&["a@inbox.test".to_owned()], &message);
        (item.id != "m4").then_some(Ok(Fetched::Mail(found)))
    });
    let mut held = HeldLease::new(poller.lease().await);
    let (nobody, mut progress) = (Notify::new(), |_: &Tally| {});
    tokio::select! {
        _ = round(&poller.deps, &mut source, &mut held, &nobody, &mut progress) => panic!("the fifth mail never answers"),
        () = testkit::wait::until("rows", async || (poller.rows().await == 4).then_some(())) => {}
    }
    assert_eq!(poller.lease().await.cursor, "", "the page is not complete");
}

#[tokio::test]
async fn when_one_mail_times_out_the_others_are_recorded_and_the_cursor_stays() {
    let mut poller = TestPoller::new().await;
    poller.deps.settings.answer_budget = Duration::from_millis(20);
    let list = |_: &str| Ok(page(&["m1", "m2", "m3"], "1", false));
    let mut source =
        ScriptedSource::listing(list).fetching(|item| (item.id != "m2").then(|| Ok(mail(item))));
    let outcome = poller.round(&mut source).await;
    assert!(matches!(outcome, Err(Stop::Mail(PollError::Unavailable))));
    assert_eq!(source.fetched, ["m1", "m2", "m3"], "the others are fetched");
    assert_eq!(
        (poller.rows().await, poller.lease().await.cursor),
        (2, String::new())
    );
    let mut source = ScriptedSource::listing(list);
    assert_eq!(poller.round(&mut source).await.unwrap().recorded, 1);
    assert_eq!(source.fetched, ["m2"], "known mails are not fetched again");
    assert_eq!(
        (poller.rows().await, poller.lease().await.cursor),
        (3, "1".to_owned())
    );
}

#[tokio::test]
async fn round_ends_after_three_failed_mails_or_one_refusal() {
    for (error, attempts) in [(PollError::UnexpectedAnswer, 3), (PollError::Busy(None), 1)] {
        let poller = TestPoller::new().await;
        let list = |_: &str| Ok(page(&["m1", "m2", "m3", "m4", "m5"], "1", false));
        let mut source = ScriptedSource::listing(list).fetching(move |_| Some(Err(error)));
        let outcome = poller.round(&mut source).await;
        let is_refused = matches!(error, PollError::Busy(_));
        assert!(match outcome {
            Err(Stop::Source(met)) => is_refused && met == error,
            Err(Stop::Mail(met)) => !is_refused && met == error,
            _ => false,
        });
        assert_eq!(source.fetched.len(), attempts, "{error}");
        assert_eq!(poller.lease().await.cursor, "", "nothing was skipped");
    }
}

/// A page token that has expired would fail for ever.
#[tokio::test]
async fn after_a_failure_the_client_chooses_the_next_cursor() {
    let poller = TestPoller::new().await;
    let mut source = ScriptedSource::listing(|cursor| match cursor {
        "" => Ok(page(&["m1"], "expired", true)),
        _ => Err(PollError::UnexpectedAnswer),
    });
    source.restart = Some("top");
    let outcome = poller.round(&mut source).await;
    assert!(matches!(
        outcome,
        Err(Stop::Source(PollError::UnexpectedAnswer))
    ));
    assert_eq!(
        (poller.rows().await, poller.lease().await.cursor),
        (1, "top".to_owned())
    );
}

#[tokio::test]
async fn mail_with_a_future_time_is_recorded_and_counted() {
    let poller = TestPoller::new().await;
    let now = SystemClock.now();
    let hours = Duration::from_hours(9);
    let times = [now.plus(hours), now, Timestamp::from_millis(0)];
    let mut skewed = ScriptedSource::listing(move |_| {
        let items = times.iter().map(|at| ListedMail {
            arrived_at: Some(*at),
            ..listed(at)
        });
        Ok(Page {
            items: items.collect(),
            cursor: "1".to_owned(),
            has_more: false,
        })
    });
    assert_eq!(poller.round(&mut skewed).await.unwrap().recorded, 3);
    let label = SourceLabel::new(source().as_str());
    assert_eq!(poller.deps.meters.ahead.get_or_create(&label).get(), 1);
}

#[tokio::test]
async fn poller_with_an_old_fence_writes_nothing() {
    let poller = TestPoller::new().await;
    let mut held = HeldLease::new(poller.lease().await);
    held.lease.fence -= 1;
    let mut source = ScriptedSource::listing(|_| Ok(page(&["m1"], "1", false)));
    let outcome = round(
        &poller.deps,
        &mut source,
        &mut held,
        &Notify::new(),
        &mut |_| {},
    )
    .await;
    assert!(matches!(outcome, Err(Stop::Lost)));
    assert_eq!(
        (poller.rows().await, poller.lease().await.cursor),
        (0, String::new())
    );
}
