//! The search against a real feed over a real database.

mod inbox;

use std::time::Duration;

use pipeline::{ArtifactKind, NewArtifact, Reason, SenderProof, Verdict};
use secrecy::ExposeSecret;
use serde_json::json;
use testkit::proxy::Proxy;
use testkit::wait;
use tokio::time::{Instant, sleep};

use super::Search;
use super::handle::HEARTBEAT;
use super::miss::Miss;
use super::pace::Pace;
use super::search::{Found, Value, search};
use client::{CallError, Client, Consumption, Kind};

use inbox::{Inbox, code, relay_that_loses_an_answer};

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
        Found::Stopped(signal) => panic!("{signal:?}"),
    }
}

fn miss(found: Result<Found, CallError>) -> Miss {
    match found.unwrap() {
        Found::Value(_) => panic!("a value"),
        Found::None(miss) => miss,
        Found::Stopped(signal) => panic!("{signal:?}"),
    }
}

/// Whether a value arrived before the wait.
fn is_earlier(value: &Value) -> bool {
    super::age(value).is_some()
}

fn withheld(reason: &'static str) -> NewArtifact {
    NewArtifact {
        verdict: Verdict::Withheld(Reason::new(reason)),
        value: None,
        ..code("")
    }
}

#[tokio::test]
async fn the_newest_earlier_code_is_consumed_and_older_ones_are_stale() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    inbox.arrives("example.com", code("111111")).await;
    inbox.arrives("example.com", code("222222")).await;
    inbox.arrives("example.com", withheld("ambiguous")).await;
    let found = find(&inbox, &client, SOON).await;
    assert!(matches!(&found, Ok(Found::Value(value)) if is_earlier(value)));
    assert_eq!(value(found), "222222");
    let stale = miss(find(&inbox, &client, SOON).await);
    let reason = Some("ambiguous".to_owned());
    assert_eq!(stale, Miss::Withheld { reason });
    inbox.arrives("example.com", code("333333")).await;
    assert_eq!(value(find(&inbox, &client, SOON).await), "333333");
}

#[tokio::test]
async fn a_code_of_another_sender_does_not_make_a_code_stale() {
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
async fn the_newest_of_many_codes_is_found() {
    let inbox = Inbox::open().await;
    for number in 0..205 {
        inbox
            .arrives("example.com", code(&format!("{}", 100_000 + number)))
            .await;
    }
    assert_eq!(value(find(&inbox, &inbox.client(), LONG).await), "100204");
}

#[tokio::test]
async fn a_code_that_arrives_during_the_wait_is_found() {
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
async fn every_miss_reports_what_arrived() {
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
    assert_eq!(consumed, Miss::AlreadyConsumed { at: None });

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
async fn mail_during_the_wait_explains_more_than_earlier_mail() {
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
    let reason = Some("link_instead".to_owned());
    assert_eq!(miss(found), Miss::NoArtifact { reason });
}

#[tokio::test]
async fn items_that_expired_before_the_wait_are_nothing_arrived() {
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
async fn an_item_that_expires_during_the_wait_is_reported_as_expired() {
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
async fn from_domain_accepts_the_domain_and_its_subdomains_only() {
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
    assert_eq!(
        miss(others),
        Miss::Withheld {
            reason: Some("sender_not_allowed".to_owned())
        }
    );
}

#[tokio::test]
async fn an_unproven_sender_is_withheld_when_verified_is_required() {
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
    assert_eq!(
        miss(verified().await),
        Miss::Withheld {
            reason: Some("sender_not_verified".to_owned())
        }
    );
    inbox
        .arrives_with(SenderProof::Dkim, "example.com", code("493817"))
        .await;
    assert_eq!(value(verified().await), "493817");
}

#[tokio::test]
async fn a_consume_whose_answer_is_lost_is_retried_and_returns_the_value() {
    let inbox = Inbox::open().await;
    inbox.arrives("example.com", code("493817")).await;
    let relay = relay_that_loses_an_answer(inbox.server()).await;
    let client = inbox.client_through(relay);
    match find(&inbox, &client, LONG).await.unwrap() {
        Found::Value(found) => {
            assert_eq!(found.disclosed.value.expose_secret(), "493817");
        }
        Found::None(miss) => panic!("no value: {miss:?}"),
        Found::Stopped(signal) => panic!("{signal:?}"),
    }
}

#[tokio::test]
async fn a_wait_continues_after_an_outage_of_the_server() {
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
async fn a_wait_opens_another_attempt_when_an_outage_has_ended_its_own() {
    let inbox = Inbox::open().await;
    let proxy = Proxy::to(&inbox.server().to_string()).await;
    let client = inbox.client_through(proxy.address());
    let outage = async {
        inbox.someone_waits().await;
        proxy.cut();
        sleep(HEARTBEAT + SOON).await;
        proxy.heal();
        wait::until("another attempt is open", async || {
            (inbox.open_attempts().await == 2).then_some(())
        })
        .await;
        inbox.arrives("example.com", code("493817")).await;
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, LONG), outage);
    assert_eq!(value(found), "493817");
}

#[tokio::test]
async fn a_server_that_never_answered_is_unreachable_at_once() {
    let inbox = Inbox::open().await;
    let silent = testkit::own_port::OwnPort::take();
    let client = inbox.client_through(silent.address);
    let error = find(&inbox, &client, LONG).await.err().unwrap();
    assert!(matches!(error, CallError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn a_wrong_key_is_unauthenticated_at_once() {
    let inbox = Inbox::open().await;
    let client = inbox.client_with_key(&feed::Keys::mint());
    let error = find(&inbox, &client, LONG).await.err().unwrap();
    assert!(matches!(error, CallError::Unauthenticated), "{error:?}");
}

#[tokio::test]
async fn a_code_of_another_attempt_is_reported_as_given_away() {
    let inbox = Inbox::open().await;
    let client = inbox.client();
    let request = json!({ "inbox": inbox.address, "from": ["example.com"] });
    client.open_attempt(&request).await.unwrap();
    let arrive = async {
        inbox.someone_waits().await;
        inbox.arrives("example.com", code("493817")).await;
    };
    let (found, ()) = tokio::join!(find(&inbox, &client, Duration::from_secs(1)), arrive);
    assert_eq!(miss(found), Miss::GivenAway);
    // A later wait reports the same, while the other attempt can still consume it.
    assert_eq!(miss(find(&inbox, &client, SOON).await), Miss::GivenAway);
}

#[tokio::test]
async fn a_finished_wait_leaves_no_attempt_open() {
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
async fn consuming_an_unknown_artifact_returns_gone() {
    let inbox = Inbox::open().await;
    let nowhere = pipeline::ArtifactId::new().to_string();
    let consumed = inbox.client().consume(&nowhere, "k").await;
    assert!(matches!(consumed, Ok(Consumption::Gone)), "{consumed:?}");
}

#[tokio::test]
async fn early_answers_are_followed_by_a_pause() {
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
fn domains_are_normalised_and_other_texts_refused() {
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
