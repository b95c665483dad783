//! Whether the sender of a mail is proven, and what becomes of one that is not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{ArtifactView, Clock, ConsumerId, InboxRules, NewInbox, SystemClock};
use testkit::dkim::{Signer, key_name, key_record};
use testkit::dns::Dns;
use worker::Dkim;

use crate::desk::{Desk, payload};

const FIELDS: &[&str] = &["From", "Subject", "Date", "To"];

/// A server of names that knows the key of `example.com` and of `evil.test`.
async fn dns() -> Dns {
    let names = ["example.com", "evil.test"].map(|domain| (key_name(domain), key_record()));
    Dns::knowing(BTreeMap::from(names)).await
}

async fn desk(dns: &Dns) -> Desk {
    patient_desk(dns, Duration::from_secs(5)).await
}

/// A worker that waits so long for the DNS.
async fn patient_desk(dns: &Dns, budget: Duration) -> Desk {
    let mut desk = Desk::open().await;
    let deps = Arc::get_mut(&mut desk.deps).unwrap();
    deps.dkim = Dkim::new(&[dns.address()], budget).unwrap();
    desk
}

fn now() -> i64 {
    SystemClock.now().as_seconds()
}

fn by(domain: &str) -> Signer<'_> {
    Signer {
        domain,
        fields: FIELDS,
        at: Some(now()),
        tags: "",
    }
}

/// A mail from a shop at `domain`.
fn mail_from(domain: &str) -> String {
    format!(
        "From: Shop <no-reply@{domain}>\r\n\
         To: agent@inbox.test\r\n\
         Message-ID: <1@{domain}>\r\n\
         Date: Sun, 15 Nov 2026 10:00:00 +0000\r\n\
         Subject: Your verification code\r\n\
         \r\n\
         Your verification code is 493817.\r\n"
    )
}

/// What becomes of a mail to `agent@inbox.test`.
async fn item(desk: &Desk, mail: &str) -> ArtifactView {
    desk.record("one", &payload("agent@inbox.test", mail.as_bytes()))
        .await;
    desk.work_until_idle().await;
    let mut items = desk.items("agent@inbox.test").await;
    assert_eq!(items.len(), 1);
    items.remove(0)
}

/// What proves the sender of a mail, or why nothing does.
async fn proof(mail: &str) -> String {
    let dns = dns().await;
    let desk = desk(&dns).await;
    item(&desk, mail).await.sender_proof.as_str().to_owned()
}

#[tokio::test]
async fn a_signature_of_the_senders_own_domain_proves_it() {
    assert_eq!(
        proof(&by("example.com").sign(&mail_from("example.com"))).await,
        "dkim"
    );
    let below = mail_from("mail.example.com");
    assert_eq!(proof(&by("example.com").sign(&below)).await, "dkim");
}

#[tokio::test]
async fn what_was_changed_or_signed_by_others_proves_nothing() {
    let mail = mail_from("example.com");
    let signed = by("example.com").sign(&mail);
    let changed = signed.replace("493817", "493818");
    assert_eq!(proof(&changed).await, "signature_failed");
    let subject = signed.replace("Subject: Your", "Subject: My");
    assert_eq!(proof(&subject).await, "signature_failed");
    assert_eq!(proof(&by("evil.test").sign(&mail)).await, "not_aligned");
    assert_eq!(proof(&mail).await, "no_signature");
    let unknown = by("unknown.test").sign(&mail_from("unknown.test"));
    assert_eq!(proof(&unknown).await, "key_missing");
}

#[tokio::test]
async fn a_signature_that_leaves_something_out_proves_nothing() {
    let mail = mail_from("example.com");
    for fields in [
        &["From", "Date"][..],
        &["Subject", "Date"],
        &["From", "Subject"],
    ] {
        let signer = Signer {
            fields,
            ..by("example.com")
        };
        assert_eq!(proof(&signer.sign(&mail)).await, "signature_unfit");
    }
    let short = Signer {
        tags: "l=10; ",
        ..by("example.com")
    };
    assert_eq!(proof(&short.sign(&mail)).await, "signature_unfit");
    let doubled = format!(
        "Subject: Reset your password\r\n{}",
        by("example.com").sign(&mail)
    );
    assert_eq!(proof(&doubled).await, "signature_unfit");
    let two = format!("From: x@evil.test\r\n{}", by("example.com").sign(&mail));
    assert_eq!(proof(&two).await, "sender_odd");
}

#[tokio::test]
async fn a_signature_by_sha1_proves_nothing() {
    let signed = by("example.com").sign_by_sha1(&mail_from("example.com"));
    assert_eq!(proof(&signed).await, "signature_unfit");
}

/// Where a line without a colon stands for the empty one, the signature still holds
/// over all that it covers, and the body's first lines are read as fields.
#[tokio::test]
async fn a_mail_whose_fields_end_elsewhere_for_the_signature_proves_nothing() {
    let mail = mail_from("example.com")
        .replace("\r\n\r\nYour", "\r\n\r\nReply-To: x@evil.test\r\n\r\nYour");
    let signed = by("example.com").sign(&mail);
    assert_eq!(proof(&signed).await, "dkim");
    let shifted = signed.replacen("\r\n\r\n", "\r\nno field\r\n", 1);
    assert_eq!(proof(&shifted).await, "signature_unfit");
}

#[tokio::test]
async fn an_old_mail_that_is_sent_again_is_not_taken_for_new() {
    let old = Signer {
        at: Some(now() - 2 * 24 * 60 * 60),
        ..by("example.com")
    };
    assert_eq!(
        proof(&old.sign(&mail_from("example.com"))).await,
        "signature_stale"
    );
    let undated = Signer {
        at: None,
        ..by("example.com")
    };
    let dated_long_ago = mail_from("example.com").replace("2026 10:00", "2024 10:00");
    assert_eq!(
        proof(&undated.sign(&dated_long_ago)).await,
        "signature_stale"
    );
}

#[tokio::test]
async fn what_a_mail_says_of_itself_proves_nothing() {
    let mail = format!(
        "Authentication-Results: mx.inbox.test; dkim=pass header.d=example.com; dmarc=pass\r\n{}",
        mail_from("example.com")
    );
    assert_eq!(proof(&mail).await, "no_signature");
}

#[tokio::test]
async fn nothing_is_asked_about_domains_that_are_not_the_senders() {
    let dns = dns().await;
    let desk = desk(&dns).await;
    let mail = by("evil.test").sign(&mail_from("example.com"));
    item(&desk, &mail).await;
    assert_eq!(dns.asked(), 0);
}

#[tokio::test]
async fn mail_without_a_proof_is_kept_back_where_one_is_wanted() {
    let dns = dns().await;
    for (mail, verdict) in [
        (mail_from("example.com"), "withheld"),
        (by("example.com").sign(&mail_from("example.com")), "usable"),
    ] {
        let desk = desk(&dns).await;
        wants_proof(&desk).await;
        let item = item(&desk, &mail).await;
        assert_eq!(item.verdict.as_str(), verdict);
        let reason = item.verdict.reason().map(pipeline::Reason::as_str);
        let is_withheld = verdict == "withheld";
        assert_eq!(reason, is_withheld.then_some("sender_not_verified"));
    }
}

#[tokio::test]
async fn an_operator_may_want_every_sender_proven() {
    let dns = dns().await;
    let mut desk = desk(&dns).await;
    Arc::get_mut(&mut desk.deps).unwrap().settings.needs_proof = true;
    let item = item(&desk, &mail_from("example.com")).await;
    let reason = item.verdict.reason().map(pipeline::Reason::as_str);
    assert_eq!(reason, Some("sender_not_verified"));
}

/// Makes `agent@inbox.test` an inbox that wants senders proven.
async fn wants_proof(desk: &Desk) {
    let owner: ConsumerId = "owner".parse().unwrap();
    let inbox = NewInbox {
        inbox: "agent@inbox.test".parse().unwrap(),
        owner,
        asked: None,
        rules: InboxRules {
            needs_proof: true,
            ..InboxRules::default()
        },
        metadata: None,
        expires_in: None,
        retention: None,
    };
    let made = desk.store.inboxes.create_inbox(inbox).await.unwrap();
    assert!(made.fresh().is_some());
}

#[tokio::test]
async fn while_the_dns_is_silent_mail_waits_that_must_be_proven_and_other_mail_does_not() {
    let signed = by("example.com").sign(&mail_from("example.com"));
    let mute = Dns::mute().await;
    let careless = patient_desk(&mute, Duration::from_millis(200)).await;
    let item = item(&careless, &signed).await;
    assert_eq!(item.sender_proof.as_str(), "dns_away");
    assert_eq!(item.verdict.as_str(), "usable");

    let mut careful = patient_desk(&mute, Duration::from_millis(200)).await;
    let settings = &mut Arc::get_mut(&mut careful.deps).unwrap().settings;
    settings.fetch_backoff.wall_clock = Duration::from_millis(500);
    wants_proof(&careful).await;
    let body = payload("agent@inbox.test", signed.as_bytes());
    careful.record("one", &body).await;
    careful.work_until_idle().await;
    assert!(careful.items("agent@inbox.test").await.is_empty());
    let failures = careful.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(failures.len(), 1, "it is kept for the operator");
}
