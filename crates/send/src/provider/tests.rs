//! Each sender against a fake provider that lies.

mod requests;

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Clock, ProviderKey, SystemClock, Timestamp};
use testkit::mail_provider::{Lie, MailProvider};
use testkit::smtp_server::{SmtpFault, SmtpServer};

use super::vectors::{Kind, assert_kind};
use crate::acceptance::{Acceptance, LookUp};
use crate::mail::Mail;
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::sender::{Sender, SenderFlaw};
use crate::settings::{SendSettings, SenderSettings};

const PROVIDERS: [&str; 9] = [
    "agentmail",
    "brevo",
    "mailgun",
    "nylas",
    "postmark",
    "resend",
    "sendgrid",
    "ses",
    "sparkpost",
];

/// Those that can be asked for a mail.
const LOOKED_UP: [&str; 6] = [
    "agentmail",
    "brevo",
    "mailgun",
    "nylas",
    "postmark",
    "sparkpost",
];

fn shared() -> SendSettings {
    SendSettings {
        timeout: Duration::from_millis(400),
        smtp_timeout: Duration::from_millis(400),
        lease_margin: Duration::from_secs(1),
        every: Duration::from_millis(50),
        concurrency: 4,
        hold: Duration::from_hours(24),
        per_day: 1000,
        give_up: Duration::from_hours(24),
        settle_first: Duration::from_millis(50),
        settle_ceiling: Duration::from_millis(50),
        retry_after: Duration::ZERO,
    }
}

fn try_build(settings: &str) -> Result<Sender, SenderFlaw> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings: SenderSettings = serde_json::from_str(settings).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    Sender::build("shop", settings, &shared(), &clock)
}

fn build(settings: &str) -> Sender {
    try_build(settings).unwrap()
}

fn sender(provider: &str, url: &str) -> Sender {
    let keys = match provider {
        "ses" => r#""region":"eu-west-1","access_key":"AK","secret_key":"SK""#,
        "nylas" => r#""api_key":"key","grant":"grant-1""#,
        _ => r#""api_key":"key""#,
    };
    build(&format!(
        r#"{{"provider":"{provider}","from":"Shop <shop@mail.example.com>","api_url":"{url}",{keys}}}"#
    ))
}

fn mail(number: u8) -> (Mail, ProviderKey) {
    let key = ProviderKey::from_bytes([number; 32]);
    let mail = Mail {
        from: "Shop <shop@mail.example.com>".parse().unwrap(),
        to: "user@example.com".parse().unwrap(),
        subject: "Größe".to_owned(),
        text: "One\r\n.\r\n..two\r\n".to_owned(),
        html: Some("<p>One</p>".to_owned()),
        answers: None,
        key,
        date: Timestamp::from_millis(1_763_164_800_250),
    };
    (mail, key)
}

async fn hand_over(sender: &Sender, number: u8) -> Acceptance {
    let (mail, key) = mail(number);
    // What is stored is what is sent.
    let payload = sender.transport.prepare(&mail).payload().unwrap();
    let prepared = Prepared::read(&payload).unwrap();
    sender.transport.hand_over(&prepared, &key).await
}

#[tokio::test]
async fn accepted_mail_is_sent_and_its_key_is_recognised_where_the_provider_has_one() {
    for provider in PROVIDERS {
        let fake = MailProvider::start().await;
        let sender = sender(provider, &fake.url);
        let first = hand_over(&sender, 1).await;
        assert!(
            matches!(first, Acceptance::Sent { .. }),
            "{provider}: {first:?}"
        );
        let again = hand_over(&sender, 1).await;
        let has_key = sender.transport.window().is_some();
        let copies = fake.accepted_times(&ProviderKey::from_bytes([1; 32]).to_string());
        assert_eq!(copies, if has_key { 1 } else { 2 }, "{provider}");
        if provider == "brevo" {
            // It recognises the key, and names no id.
            assert_kind(&again, Kind::Maybe, provider);
        } else {
            assert_eq!(first == again, has_key, "{provider}");
        }
    }
}

#[tokio::test]
async fn every_lie_has_its_meaning_and_one_request_is_made() {
    use Kind::{Maybe, NotSent, Refused, SenderUnfit};
    let answer = |status| Lie::Answer(status, "{}".to_owned());
    for provider in PROVIDERS {
        // The provider of a mailbox at Nylas failed, and may have sent the mail.
        let unprocessable = if provider == "nylas" { Maybe } else { Refused };
        for (lie, expected) in [
            (Lie::ErrorAfterAccepting, Maybe),
            (Lie::GarbageAfterAccepting, Maybe),
            (Lie::ResetBeforeBody, Maybe),
            (Lie::ResetInBody, Maybe),
            (Lie::ResetAfterAccepting, Maybe),
            (Lie::SilenceAfterAccepting, Maybe),
            (Lie::Silence, Maybe),
            (answer(200), Maybe),
            (answer(307), Maybe),
            (answer(408), Maybe),
            (answer(503), Maybe),
            (answer(429), NotSent),
            (answer(401), SenderUnfit),
            (answer(400), Refused),
            (answer(422), unprocessable),
        ] {
            let fake = MailProvider::start().await;
            fake.lie([lie.clone()]);
            let sender = sender(provider, &fake.url);
            let acceptance = hand_over(&sender, 1).await;
            assert_kind(&acceptance, expected, &format!("{provider} {lie:?}"));
            assert_eq!(fake.requests(), 1, "{provider} {lie:?}");
        }
    }
}

#[test]
fn missing_and_foreign_settings_are_refused() {
    for (provider, rest, expected) in [
        ("brevo", "", "`api_key` must be set for this provider"),
        (
            "nylas",
            r#","api_key":"k""#,
            "`grant` must be set for this provider",
        ),
        (
            "nylas",
            r#","api_key":"k","grant":"..""#,
            "`grant` cannot be used",
        ),
        (
            "mailgun",
            r#","api_key":"k","domain":"""#,
            "`domain` cannot be used",
        ),
        (
            "sendgrid",
            r#","api_key":"k","domain":"x.test""#,
            "this provider takes no `domain`",
        ),
        (
            "sparkpost",
            r#","api_key":"k","grant":"g""#,
            "this provider takes no `grant`",
        ),
        (
            "sparkpost",
            r#","api_key":"k","api_url":"http://api.example.com""#,
            "`api_url` must be https, or http to this machine",
        ),
    ] {
        let settings = format!(r#"{{"provider":"{provider}","from":"a@x.test"{rest}}}"#);
        let flaw = try_build(&settings).err().unwrap();
        assert_eq!(flaw.to_string(), expected, "{settings}");
    }
    let pigeon = try_build(r#"{"provider":"pigeon","from":"a@x.test"}"#);
    let flaw = pigeon.err().unwrap().to_string();
    for provider in PROVIDERS {
        assert!(flaw.contains(provider), "{flaw}");
    }
}

/// Nylas keeps errors, too, so a repetition proves nothing and the look-up does.
#[tokio::test]
async fn repeated_error_of_nylas_proves_nothing() {
    let fake = MailProvider::start().await;
    fake.lie([Lie::ErrorAfterAccepting]);
    let sender = sender("nylas", &fake.url);
    for _ in 0..2 {
        assert_kind(&hand_over(&sender, 1).await, Kind::Maybe, "nylas");
    }
    assert_eq!((fake.requests(), fake.accepted().len()), (2, 1));
    let (mail, key) = mail(1);
    let prepared = sender.transport.prepare(&mail);
    let found = sender.transport.look_up(&prepared, &key).await;
    assert!(matches!(found, LookUp::Sent { .. }), "{found:?}");
}

#[tokio::test]
async fn windows_are_shorter_than_the_time_that_keys_are_kept() {
    let (hours, minutes) = (Duration::from_hours, Duration::from_mins);
    for (provider, kept) in [
        ("agentmail", Some(hours(24))),
        ("brevo", Some(minutes(15))),
        ("mailgun", None),
        ("nylas", Some(minutes(60))),
        ("postmark", None),
        ("resend", Some(hours(24))),
        ("sendgrid", None),
        ("ses", None),
        ("sparkpost", Some(hours(24))),
    ] {
        let window = sender(provider, "http://127.0.0.1:1").transport.window();
        assert_eq!(window.is_some(), kept.is_some(), "{provider}");
        let longest = kept.map(|kept| kept * 5 / 6);
        assert!(window <= longest, "{provider}: {window:?}");
    }
}

#[tokio::test]
async fn refused_connections_and_failed_handshakes_prove_that_nothing_was_sent() {
    let fake = MailProvider::start().await;
    let silent = testkit::own_port::OwnPort::take();
    let closed = format!("http://{}", silent.address);
    for url in [closed, fake.url.replace("http:", "https:")] {
        let acceptance = hand_over(&sender("resend", &url), 1).await;
        assert_kind(&acceptance, Kind::NotSent, &url);
    }
    assert_eq!(fake.requests(), 0);
}

#[tokio::test]
async fn reach_asks_every_provider_and_sends_nothing() {
    for provider in PROVIDERS {
        let fake = MailProvider::start().await;
        let reach = sender(provider, &fake.url).transport.reach().await;
        assert_eq!(reach, Reach::Reached, "{provider}");
        assert_eq!(fake.heads().len(), 1, "{provider}");
        assert_eq!(fake.requests(), 0, "{provider}");
        let closed = sender(provider, "http://127.0.0.1:1");
        assert_eq!(
            closed.transport.reach().await,
            Reach::NotReached,
            "{provider}"
        );
    }
}

#[tokio::test]
async fn look_ups_find_what_was_accepted() {
    for provider in LOOKED_UP {
        let fake = MailProvider::start().await;
        let sender = sender(provider, &fake.url);
        let look_up = async |number| {
            let (mail, key) = mail(number);
            let prepared = sender.transport.prepare(&mail);
            sender.transport.look_up(&prepared, &key).await
        };
        assert_eq!(look_up(1).await, LookUp::Absent, "{provider}");
        fake.lie([Lie::ResetAfterAccepting]);
        hand_over(&sender, 1).await;
        let found = look_up(1).await;
        assert!(
            matches!(found, LookUp::Sent { .. }),
            "{provider}: {found:?}"
        );
        assert_eq!(look_up(2).await, LookUp::Absent, "{provider}");
        fake.hide_accepted(true);
        assert_eq!(look_up(1).await, LookUp::Absent, "{provider}");
    }
}

fn smtp(port: u16, rest: &str) -> Sender {
    build(&format!(
        r#"{{"provider":"smtp","from":"shop@mail.example.com","host":"127.0.0.1","port":{port},"tls":"off"{rest}}}"#
    ))
}

#[tokio::test]
async fn smtp_mail_arrives_as_it_was_rendered() {
    let server = SmtpServer::start().await;
    let sender = smtp(server.port, r#","username":"u","password":"p""#);
    let acceptance = hand_over(&sender, 1).await;
    assert_kind(&acceptance, Kind::Sent("FAKE1"), "honest server");
    let (mail, key) = mail(1);
    let message = mail.message();
    assert_eq!(
        server.accepted(),
        [message.trim_end_matches("\r\n").to_owned() + "\r\n\r\n"]
    );
    assert_eq!(server.accepted_times(&key.to_string()), 1);
}

#[tokio::test]
async fn every_smtp_fault_has_its_meaning() {
    use Kind::{Maybe, NotSent, Refused};
    for (fault, expected, copies) in [
        (SmtpFault::CutAtGreeting, NotSent, 0),
        (SmtpFault::CutAtData, NotSent, 0),
        (SmtpFault::CutInMessage, Maybe, 0),
        (SmtpFault::CutAtDot, Maybe, 0),
        (SmtpFault::CutAfterDot, Maybe, 1),
        (SmtpFault::SilenceAfterDot, Maybe, 1),
        (SmtpFault::GarbageAfterDot, Maybe, 1),
        (SmtpFault::Recipient(450), NotSent, 0),
        (SmtpFault::Recipient(550), Refused, 0),
        (SmtpFault::Dot(451), NotSent, 0),
        (SmtpFault::Dot(554), Refused, 0),
        (SmtpFault::Dot(354), Maybe, 0),
    ] {
        let server = SmtpServer::start().await;
        server.fail([fault]);
        let acceptance = hand_over(&smtp(server.port, ""), 1).await;
        assert_kind(&acceptance, expected, &format!("{fault:?}"));
        assert_eq!(server.accepted().len(), copies, "{fault:?}");
    }
    let closed = hand_over(&smtp(1, ""), 1).await;
    assert_kind(&closed, NotSent, "no server");
}
