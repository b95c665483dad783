use pipeline::{Clock, SystemClock};

use super::*;
use crate::desk::{Desk, Script, listed, mail, page, source};

/// A list whose every page has one mail that nobody knows, and never an end.
fn endless() -> Script {
    Script::listing(|cursor| {
        let at: u64 = cursor.parse().unwrap_or(0);
        Ok(page(&[&format!("m{at}")], &(at + 1).to_string(), true))
    })
}

fn is_endless(outcome: &Result<Tally, Stop>) -> bool {
    matches!(outcome, Err(Stop::Pull(PullError::Endless)))
}

#[tokio::test]
async fn a_list_without_an_end_is_left_after_so_many_pages_and_gone_on_with_later() {
    let (desk, mut source) = (Desk::new().await, endless());
    let tally = desk.round(&mut source).await.unwrap();
    assert_eq!((tally.listed, tally.recorded), (5, 5));
    assert!(tally.is_cut);
    assert_eq!(desk.lease().await.cursor, "5");
    desk.round(&mut source).await.unwrap();
    assert_eq!(source.asked.len(), 10);
    assert_eq!(desk.rows().await, 10);
}

#[tokio::test]
async fn a_list_without_an_end_and_without_anything_new_is_called_endless() {
    let desk = Desk::new().await;
    let mut source = Script::listing(|cursor| {
        let at: u64 = cursor.parse().unwrap_or(0);
        Ok(page(&["always the same"], &(at + 1).to_string(), true))
    });
    // In the first round one mail is new.
    assert!(desk.round(&mut source).await.unwrap().is_cut);
    assert!(is_endless(&desk.round(&mut source).await));
    assert_eq!(source.asked.len(), 10, "five pages in a round");
    assert_eq!(desk.rows().await, 1);
}

#[tokio::test]
async fn a_cursor_that_comes_again_ends_the_round_and_what_was_found_is_kept() {
    let desk = Desk::new().await;
    let mut source = Script::listing(|cursor| {
        Ok(match cursor {
            "b" => page(&["m2"], "a", true),
            _ => page(&["m1"], "b", true),
        })
    });
    source.anew = Some("");
    assert!(is_endless(&desk.round(&mut source).await));
    assert_eq!(source.asked, ["", "b", "a"]);
    assert_eq!(desk.rows().await, 2);
    assert_eq!(desk.lease().await.cursor, "", "the next round begins anew");
}

#[tokio::test]
async fn the_cursor_that_was_asked_with_is_no_progress_either() {
    let desk = Desk::new().await;
    let mut source = Script::listing(|_| Ok(page(&["m1"], "", true)));
    assert!(is_endless(&desk.round(&mut source).await));
    assert_eq!(source.asked.len(), 1);
}

#[tokio::test]
async fn a_round_takes_no_longer_than_its_time() {
    let (mut desk, mut source) = (Desk::new().await, endless());
    desk.deps.settings.round_budget = Duration::ZERO;
    let tally = desk.round(&mut source).await.unwrap();
    assert!(tally.is_cut);
    assert!(source.asked.is_empty());
}

#[tokio::test]
async fn a_huge_mail_is_counted_and_blocks_nothing() {
    let desk = Desk::new().await;
    let mut source = Script::listing(|cursor| {
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
    let tally = desk.round(&mut source).await.unwrap();
    assert_eq!((tally.listed, tally.recorded, tally.is_cut), (4, 3, false));
    assert_eq!((desk.skipped("too_large"), desk.skipped("gone")), (1, 0));
    assert_eq!(desk.lease().await.cursor, "2");
    assert_eq!(desk.rung.0.lock().unwrap().len(), 3);
}

/// However many large mails a page has, no more than a few are held at once.
#[tokio::test]
async fn large_mails_are_saved_a_few_at_a_time() {
    let desk = Desk::new().await;
    let ids: Vec<String> = (0..5).map(|n| format!("m{n}")).collect();
    let mut source = Script::listing(move |_| {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        Ok(page(&ids, "1", false))
    })
    .fetching(|item| {
        // After the fourth, enough is together to be saved.
        let message = vec![b'x'; BATCH_BYTES / 4];
        let found = Found::raw(&["a@inbox.test".to_owned()], &message);
        (item.id != "m4").then_some(Ok(Fetched::Mail(found)))
    });
    let mut held = Held::new(desk.lease().await);
    let mut note = |_: &Tally| {};
    tokio::select! {
        _ = round(&desk.deps, &mut source, &mut held, &mut note) => panic!("it has an answer"),
        () = testkit::wait::until("rows", async || (desk.rows().await == 4).then_some(())) => {}
    }
    assert_eq!(desk.lease().await.cursor, "", "the page is not at its end");
}

#[tokio::test]
async fn a_source_that_gives_no_answer_is_away_and_what_it_had_given_is_kept() {
    let mut desk = Desk::new().await;
    desk.deps.settings.answer_budget = Duration::from_millis(20);
    let list = |_: &str| Ok(page(&["m1", "m2", "m3"], "1", false));
    let mut source =
        Script::listing(list).fetching(|item| (item.id != "m2").then(|| Ok(mail(item))));
    let outcome = desk.round(&mut source).await;
    assert!(matches!(outcome, Err(Stop::Mail(PullError::Away))));
    assert_eq!(source.fetched, ["m1", "m2", "m3"], "the others are there");
    assert_eq!(
        (desk.rows().await, desk.lease().await.cursor),
        (2, String::new())
    );
    let mut source = Script::listing(list);
    assert_eq!(desk.round(&mut source).await.unwrap().recorded, 1);
    assert_eq!(source.fetched, ["m2"], "what is known is not asked for");
    assert_eq!(
        (desk.rows().await, desk.lease().await.cursor),
        (3, "1".to_owned())
    );
}

#[tokio::test]
async fn of_a_page_that_cannot_be_had_only_a_few_mails_are_tried() {
    for (error, tries) in [(PullError::Odd, 3), (PullError::Busy(None), 1)] {
        let desk = Desk::new().await;
        let list = |_: &str| Ok(page(&["m1", "m2", "m3", "m4", "m5"], "1", false));
        let mut source = Script::listing(list).fetching(move |_| Some(Err(error)));
        let outcome = desk.round(&mut source).await;
        let is_refused = matches!(error, PullError::Busy(_));
        assert!(match outcome {
            Err(Stop::Pull(met)) => is_refused && met == error,
            Err(Stop::Mail(met)) => !is_refused && met == error,
            _ => false,
        });
        assert_eq!(source.fetched.len(), tries, "{error}");
        assert_eq!(desk.lease().await.cursor, "", "nothing was passed by");
    }
}

/// A page that has expired would be asked for in vain for ever.
#[tokio::test]
async fn after_a_failure_a_list_is_read_from_where_its_contract_says() {
    let desk = Desk::new().await;
    let mut source = Script::listing(|cursor| match cursor {
        "" => Ok(page(&["m1"], "expired", true)),
        _ => Err(PullError::Odd),
    });
    source.anew = Some("top");
    let outcome = desk.round(&mut source).await;
    assert!(matches!(outcome, Err(Stop::Pull(PullError::Odd))));
    assert_eq!(
        (desk.rows().await, desk.lease().await.cursor),
        (1, "top".to_owned())
    );
}

#[tokio::test]
async fn a_mail_of_another_time_is_recorded_and_a_clock_that_is_ahead_is_noticed() {
    let desk = Desk::new().await;
    let now = SystemClock.now();
    let hours = Duration::from_hours(9);
    let times = [now.plus(hours), now, Timestamp::from_millis(0)];
    let mut skewed = Script::listing(move |_| {
        let items = times.iter().map(|at| Item {
            arrived_at: Some(*at),
            ..listed(at)
        });
        Ok(Page {
            items: items.collect(),
            cursor: "1".to_owned(),
            has_more: false,
        })
    });
    assert_eq!(desk.round(&mut skewed).await.unwrap().recorded, 3);
    let label = SourceLabel::new(source().as_str());
    assert_eq!(desk.deps.meters.ahead.get_or_create(&label).get(), 1);
}

#[tokio::test]
async fn a_poller_that_was_overtaken_says_so_and_writes_nothing() {
    let desk = Desk::new().await;
    let mut held = Held::new(desk.lease().await);
    held.lease.fence -= 1;
    let mut source = Script::listing(|_| Ok(page(&["m1"], "1", false)));
    let outcome = round(&desk.deps, &mut source, &mut held, &mut |_| {}).await;
    assert!(matches!(outcome, Err(Stop::Lost)));
    assert_eq!(
        (desk.rows().await, desk.lease().await.cursor),
        (0, String::new())
    );
}
