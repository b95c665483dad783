//! The search against a real feed over a real database.

mod inbox;

use std::sync::Arc;
use std::time::Duration;

use pipeline::{ArtifactKind, NewArtifact, Reason, SenderProof, Verdict};
use secrecy::ExposeSecret;
use serde_json::json;
use testkit::proxy::Proxy;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Search;
use super::miss::Miss;
use super::pace::Pace;
use super::search::{Found, search};
use crate::client::{CallError, Client, Consumption, Kind};

use inbox::{Inbox, Mishap, code, relay_with};

const SOON: Duration = Duration::from_millis(300);
/// Only a failing test waits this long.
const LONG: Duration = Duration::from_mins(1);

/// Waits for a code, from anybody.
async fn find(inbox: &Inbox, client: &Client, timeout: Duration) -> Result<Found, CallError> {
    find_from(inbox, client, None, timeout).await
}

async fn find_from(
    inbox: &Inbox,
    client: &Client,
    from_domain: Option<&str>,
    timeout: Duration,
) -> Result<Found, CallError> {
    let kind = Kind::Code;
    let (client, inbox) = (client, &inbox.address);
    search(&Search {
        client,
        inbox,
        kind,
        from_domain,
        verified: false,
        timeout,
    })
    .await
}

fn value(found: Result<Found, CallError>) -> String {
    match found.unwrap() {
        Found::Value(found) => found.disclosed.value.expose_secret().to_owned(),
        Found::None(miss) => panic!("no value: {miss:?}"),
        Found::Stopped(asked) => panic!("{asked:?}"),
    }
}

fn miss(found: Result<Found, CallError>) -> Miss {
    match found.unwrap() {
        Found::Value(_) => panic!("a value"),
        Found::None(miss) => miss,
        Found::Stopped(asked) => panic!("{asked:?}"),
    }
}

fn withheld(reason: &'static str) -> NewArtifact {
    NewArtifact {
        verdict: Verdict::Withheld(Reason::new(reason)),
        value: None,
        ..code("")
    }
}

#[tokio::test]
async fn the_newest_code_that_came_before_the_call_is_found_and_no_older_one_after_it() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    inbox.arrives("example.com", code("111111")).await;
    inbox.arrives("example.com", code("222222")).await;
    inbox.arrives("example.com", withheld("ambiguous")).await;
    let found = find(&inbox, &client, SOON).await;
    assert!(matches!(&found, Ok(Found::Value(value)) if !value.is_new));
    assert_eq!(value(found), "222222");
    let stale = miss(find(&inbox, &client, SOON).await);
    let reason = Some("ambiguous".to_owned());
    assert_eq!(stale, Miss::Withheld { reason });
    inbox.arrives("example.com", code("333333")).await;
    assert_eq!(value(find(&inbox, &client, SOON).await), "333333");
}

#[tokio::test]
async fn what_another_sender_sent_does_not_make_a_code_old() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    inbox.arrives("example.com", code("111111")).await;
    inbox.arrives("other.test", code("222222")).await;
    let other = find_from(&inbox, &client, Some("other.test"), SOON).await;
    assert_eq!(value(other), "222222");
    let ours = find_from(&inbox, &client, Some("example.com"), SOON).await;
    assert_eq!(value(ours), "111111");
}

#[tokio::test]
async fn the_newest_is_found_behind_more_than_one_page() {
    let inbox = Inbox::open().await;
    for number in 0..205 {
        inbox
            .arrives("example.com", code(&format!("{}", 100_000 + number)))
            .await;
    }
    assert_eq!(value(find(&inbox, &inbox.client(), LONG).await), "100204");
}

#[tokio::test]
async fn a_code_that_comes_during_the_wait_is_found() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    let arrive = async {
        inbox.someone_waits().await;
        inbox.arrives("example.com", withheld("ambiguous")).await;
        inbox.arrives("example.com", code("493817")).await;
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, LONG), arrive);
    assert_eq!(value(found), "493817");
}

#[tokio::test]
async fn every_miss_says_what_came() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    assert_eq!(
        miss(find(&inbox, &client, SOON).await),
        Miss::NothingArrived
    );

    let nothing = NewArtifact {
        kind: ArtifactKind::Nothing,
        verdict: Verdict::Abstained(Reason::new("no_candidate")),
        value: None,
        ..code("")
    };
    inbox.arrives("example.com", nothing).await;
    let reason = Some("no_candidate".to_owned());
    assert_eq!(
        miss(find(&inbox, &client, SOON).await),
        Miss::NoArtifact { reason }
    );

    inbox.arrives("example.com", code("493817")).await;
    value(find(&inbox, &client, SOON).await);
    let consumed = miss(find(&inbox, &client, SOON).await);
    assert!(
        matches!(consumed, Miss::AlreadyConsumed { at: Some(_) }),
        "{consumed:?}"
    );

    inbox
        .arrives("example.com", withheld("host_not_allowed"))
        .await;
    let reason = Some("host_not_allowed".to_owned());
    assert_eq!(
        miss(find(&inbox, &client, SOON).await),
        Miss::Withheld { reason }
    );
}

#[tokio::test]
async fn what_came_during_the_wait_says_more_than_what_came_before() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    inbox
        .arrives("example.com", withheld("host_not_allowed"))
        .await;
    let link = NewArtifact {
        kind: ArtifactKind::Link,
        ..code("https://example.com/")
    };
    let arrive = async {
        inbox.someone_waits().await;
        inbox.arrives("example.com", link).await;
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, Duration::from_secs(2)), arrive);
    assert_eq!(miss(found), Miss::NoArtifact { reason: None });
}

#[tokio::test]
async fn what_has_expired_is_as_if_it_had_not_come() {
    let inbox = Inbox::open().await;
    for artifact in [code("493817"), withheld("ambiguous")] {
        let lifetime = Duration::ZERO;
        inbox
            .arrives(
                "example.com",
                NewArtifact {
                    lifetime,
                    ..artifact
                },
            )
            .await;
    }
    assert_eq!(
        miss(find(&inbox, &inbox.client(), SOON).await),
        Miss::NothingArrived
    );
}

#[tokio::test]
async fn what_expires_during_the_wait_is_told() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    let arrive = async {
        inbox.someone_waits().await;
        let lifetime = Duration::ZERO;
        let brief = NewArtifact {
            lifetime,
            ..code("493817")
        };
        inbox.arrives("example.com", brief).await;
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, Duration::from_secs(1)), arrive);
    assert_eq!(miss(found), Miss::Expired);
}

#[tokio::test]
async fn only_mail_from_the_domain_or_below_it_counts() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    inbox.arrives("mail.example.com", code("111111")).await;
    inbox.arrives("notexample.com", code("222222")).await;
    inbox.arrives("example.com.evil.test", code("333333")).await;
    let wanted = Some("example.com");
    assert_eq!(
        value(find_from(&inbox, &client, wanted, SOON).await),
        "111111"
    );
    let others = find_from(&inbox, &client, Some("other.test"), SOON).await;
    assert_eq!(miss(others), Miss::other_sender());
}

#[tokio::test]
async fn a_sender_that_must_be_proven_and_is_not_is_a_miss_that_says_so() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    let verified = async || {
        let wanted = Search {
            client: &client,
            inbox: &inbox.address,
            kind: Kind::Code,
            from_domain: None,
            verified: true,
            timeout: SOON,
        };
        search(&wanted).await
    };
    inbox.arrives("example.com", code("111111")).await;
    assert_eq!(miss(verified().await), Miss::unverified());
    inbox
        .arrives_with(SenderProof::Dkim, "example.com", code("493817"))
        .await;
    assert_eq!(value(verified().await), "493817");
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_the_value_is_not_lost() {
    let inbox = Inbox::open().await;
    inbox.arrives("example.com", code("493817")).await;
    let relay = relay_with(Mishap::Lose, inbox.server()).await;
    let client = inbox.client_through(relay);
    match find(&inbox, &client, LONG).await.unwrap() {
        Found::Value(found) => {
            assert_eq!(found.disclosed.value.expose_secret(), "493817");
            assert!(found.disclosed.is_replay, "the first answer was not lost");
        }
        Found::None(miss) => panic!("no value: {miss:?}"),
        Found::Stopped(asked) => panic!("{asked:?}"),
    }
}

#[tokio::test]
async fn a_server_that_goes_away_in_the_middle_is_waited_for() {
    let inbox = Inbox::open().await;
    let proxy = Proxy::to(&inbox.server().to_string()).await;
    let client = inbox.client_through(proxy.address());
    let outage = async {
        inbox.someone_waits().await;
        proxy.cut();
        inbox.arrives("example.com", code("493817")).await;
        proxy.heal();
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, LONG), outage);
    assert_eq!(value(found), "493817");
}

#[tokio::test]
async fn a_server_that_was_never_there_is_not_waited_for() {
    let inbox = Inbox::open().await;
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let client = inbox.client_through(nowhere);
    let error = find(&inbox, &client, LONG).await.err().unwrap();
    assert!(matches!(error, CallError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn a_wrong_key_is_told_at_once() {
    let inbox = Inbox::open().await;
    let client = inbox.client_with_key(&feed::Keys::mint());
    let error = find(&inbox, &client, LONG).await.err().unwrap();
    assert!(matches!(error, CallError::Unauthenticated), "{error:?}");
}

#[tokio::test]
async fn a_code_that_is_superseded_at_the_last_moment_makes_way_for_the_newer_one() {
    let inbox = Inbox::open().await;
    let [has, go] = [Arc::<Notify>::default(), Arc::default()];
    let held = Mishap::Hold {
        has: Arc::clone(&has),
        go: Arc::clone(&go),
    };
    let relay = relay_with(held, inbox.server()).await;
    let client = inbox.client_through(relay);
    let arrive = async {
        inbox.someone_waits().await;
        inbox.arrives_for_all("111111").await;
        has.notified().await;
        inbox.arrives_for_all("222222").await;
        go.notify_one();
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, LONG), arrive);
    assert_eq!(value(found), "222222");
}

#[tokio::test]
async fn a_code_that_went_to_another_attempt_is_told_with_its_id() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    let wish = json!({ "inbox": inbox.address, "from": ["example.com"] });
    let other = client.open_attempt(&wish).await.unwrap();
    let arrive = async {
        inbox.someone_waits().await;
        inbox.arrives_for_all("493817").await;
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, Duration::from_secs(1)), arrive);
    let attempt = Some(other.id);
    assert_eq!(miss(found), Miss::GivenAway { attempt });
    // And after the fact, as long as it can be had there.
    let again = miss(find(&inbox, &client, SOON).await);
    assert!(matches!(again, Miss::GivenAway { .. }), "{again:?}");
}

#[tokio::test]
async fn a_wait_that_has_ended_holds_no_attempt_open() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    let arrive = async {
        inbox.someone_waits().await;
        assert_eq!(inbox.open_attempts().await, 1);
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, Duration::from_secs(1)), arrive);
    assert_eq!(miss(found), Miss::NothingArrived);
    assert_eq!(inbox.open_attempts().await, 0);
}

#[tokio::test]
async fn an_artifact_that_is_not_there_any_more_is_gone_and_no_failure() {
    let inbox = Inbox::open().await;
    let nowhere = pipeline::ArtifactId::new().to_string();
    let consumed = inbox.client().consume(&nowhere, "k").await;
    assert!(matches!(consumed, Ok(Consumption::Gone)), "{consumed:?}");
}

#[tokio::test]
async fn answers_that_come_early_are_not_asked_for_in_a_circle() {
    let until = Instant::now() + Duration::from_millis(600);
    let mut pace = Pace::new();
    let mut calls = 0;
    while Instant::now() < until {
        calls += 1;
        pace.after(Instant::now(), until).await;
    }
    assert!(calls <= 3, "{calls} calls in 600 ms");
}

#[test]
fn a_domain_is_taken_as_people_write_it() {
    assert_eq!(super::domain("@Example.com").unwrap(), "example.com");
    assert_eq!(super::domain("bücher.de").unwrap(), "xn--bcher-kva.de");
    for odd in [
        "nonsense",
        "",
        "a b.com",
        "127.0.0.1",
        "https://example.com",
    ] {
        assert!(super::domain(odd).is_err(), "{odd}");
    }
}
