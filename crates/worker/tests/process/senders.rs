//! Whether the sender of a mail is proven, and what happens when it is not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{ArtifactView, Clock, ConsumerId, InboxRules, NewInbox, SystemClock};
use providers::SourceSettings;
use testkit::dkim::{Signer, key_name, key_record};
use testkit::dns::Dns;
use worker::Dkim;

use crate::fixture::{Fixture, payload};

const FIELDS: &[&str] = &["From", "Subject", "Date", "To"];

/// A DNS server that knows the DKIM keys of `example.com` and `evil.test`.
pub(crate) async fn dns() -> Dns {
    let names = ["example.com", "evil.test"].map(|domain| (key_name(domain), key_record()));
    Dns::knowing(BTreeMap::from(names)).await
}

pub(crate) async fn fixture(dns: &Dns) -> Fixture {
    fixture_with_budget(dns, Duration::from_secs(5)).await
}

/// A worker with this time budget for DNS queries.
async fn fixture_with_budget(dns: &Dns, budget: Duration) -> Fixture {
    let mut fixture = Fixture::open().await;
    let deps = Arc::get_mut(&mut fixture.deps).unwrap();
    deps.dkim = Dkim::new(&[dns.address()], budget).unwrap();
    fixture
}

pub(crate) fn now() -> i64 {
    SystemClock.now().as_seconds()
}

pub(crate) fn by(domain: &str) -> Signer<'_> {
    Signer {
        domain,
        fields: FIELDS,
        at: Some(now()),
        tags: "",
    }
}

/// A mail from a shop at `domain`.
pub(crate) fn mail_from(domain: &str) -> String {
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

/// The item of a mail to `agent@inbox.test`.
pub(crate) async fn item(fixture: &Fixture, mail: &str) -> ArtifactView {
    fixture
        .record("one", &payload("agent@inbox.test", mail.as_bytes()))
        .await;
    fixture.work_until_idle().await;
    let mut items = fixture.items("agent@inbox.test").await;
    assert_eq!(items.len(), 1);
    items.remove(0)
}

/// What proves the sender of a mail, or why it is not proven.
pub(crate) async fn proof(mail: &str) -> String {
    let dns = dns().await;
    let fixture = fixture(&dns).await;
    item(&fixture, mail).await.sender_proof.as_str().to_owned()
}

#[tokio::test]
async fn dkim_signature_of_the_senders_domain_proves_the_sender() {
    assert_eq!(
        proof(&by("example.com").sign(&mail_from("example.com"))).await,
        "dkim"
    );
    let below = mail_from("mail.example.com");
    assert_eq!(proof(&by("example.com").sign(&below)).await, "dkim");
}

#[tokio::test]
async fn changed_mail_or_foreign_signature_proves_nothing() {
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
async fn signature_that_does_not_cover_the_mail_proves_nothing() {
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

/// Each field changes what is read from a body that is signed as it is.
#[tokio::test]
async fn unsigned_content_fields_added_later_prove_nothing() {
    let signed = by("example.com").sign(&mail_from("example.com"));
    for added in [
        "Content-Transfer-Encoding: base64",
        "Content-Type: text/html",
    ] {
        let changed = format!("{added}\r\n{signed}");
        assert_eq!(proof(&changed).await, "signature_unfit", "{added}");
    }
    let typed = format!("Content-Type: text/plain\r\n{}", mail_from("example.com"));
    let with_type = Signer {
        fields: &["From", "Subject", "Date", "To", "Content-Type"],
        ..by("example.com")
    };
    assert_eq!(proof(&with_type.sign(&typed)).await, "dkim");
}

/// Anybody who has a signed mail can send it to another inbox.
/// Readers take `To :` for `To`, and the check of a signature does not.
#[tokio::test]
async fn field_with_a_blank_before_its_colon_proves_nothing() {
    let fields = [FIELDS, &["To", "Subject", "Cc"]].concat();
    let signer = Signer {
        fields: &fields,
        ..by("example.com")
    };
    let to_agent = signer.sign(&mail_from("example.com"));
    assert_eq!(proof(&to_agent).await, "dkim");
    let to_other = mail_from("example.com").replace("agent@", "other@");
    let to_other = signer.sign(&to_other);
    for field in [
        "To : agent@inbox.test",
        "Cc\t: agent@inbox.test",
        "Subject : 666666 is your code",
    ] {
        for signed in [&to_agent, &to_other] {
            let mail = format!("{field}\r\n{signed}");
            assert_eq!(proof(&mail).await, "signature_unfit", "{field}");
        }
    }
}

#[tokio::test]
async fn unsigned_mail_that_a_parser_reads_for_hours_is_processed() {
    let from = format!("From: x{}\r\n", " =?11?q?".repeat(100_000));
    let mail = format!("{from}{}", mail_from("example.com"));
    assert_eq!(proof(&mail).await, "sender_odd");
}

#[tokio::test]
async fn signed_mail_to_another_address_is_not_addressed() {
    let to_other = mail_from("example.com").replace("To: agent@", "To: other@");
    assert_eq!(
        proof(&by("example.com").sign(&to_other)).await,
        "not_addressed"
    );
    let copied = to_other.replace("To: ", "Cc: Agent <Agent@inbox.test>\r\nTo: ");
    let with_copy = Signer {
        fields: &["From", "Subject", "Date", "To", "Cc"],
        ..by("example.com")
    };
    assert_eq!(proof(&with_copy.sign(&copied)).await, "dkim");
    assert_eq!(
        proof(&by("example.com").sign(&copied)).await,
        "not_addressed",
        "an unsigned Cc counts for nothing"
    );
    let signed = by("example.com").sign(&to_other);
    let added = format!("To: agent@inbox.test\r\n{signed}");
    assert_eq!(proof(&added).await, "not_addressed");
}

#[tokio::test]
async fn signature_without_the_to_field_is_not_addressed() {
    let partial = Signer {
        fields: &["From", "Subject", "Date"],
        ..by("example.com")
    };
    let mail = partial.sign(&mail_from("example.com"));
    assert_eq!(proof(&mail).await, "not_addressed");
}

#[tokio::test]
async fn mail_to_a_tagged_address_is_addressed_to_its_inbox_alone() {
    let dns = dns().await;
    let fixture = fixture(&dns).await;
    let tagged = mail_from("example.com").replace("To: agent@", "To: agent+7@");
    let signed = by("example.com").sign(&tagged);
    for (name, recipient) in [("one", "agent+7@inbox.test"), ("two", "b@inbox.test")] {
        let body = payload(recipient, signed.as_bytes());
        fixture.record(name, &body).await;
    }
    fixture.work_until_idle().await;
    for (inbox, proof) in [
        ("agent@inbox.test", "dkim"),
        ("b@inbox.test", "not_addressed"),
    ] {
        let items = fixture.items(inbox).await;
        assert_eq!(items[0].sender_proof.as_str(), proof, "{inbox}");
    }
}

/// The operator's choice for a mailbox or a provider that forwards mail.
#[tokio::test]
async fn mail_to_an_address_that_the_operator_named_is_addressed() {
    let to_person = mail_from("example.com").replace("To: agent@inbox.test", "To: me@corp.test");
    let signed = by("example.com").sign(&to_person);
    for (addressed_to, expected) in [
        ("me@corp.test", "dkim"),
        ("*", "dkim"),
        ("you@corp.test", "not_addressed"),
    ] {
        let dns = dns().await;
        let secret = format!("whsec_{}", STANDARD.encode([7; 32]));
        let source = SourceSettings {
            addressed_to: vec![addressed_to.to_owned()],
            ..SourceSettings::standard_webhooks([secret.into()])
        };
        let sources = BTreeMap::from([("dev".to_owned(), source)]);
        let mut fixture = Fixture::with_sources(sources).await;
        let deps = Arc::get_mut(&mut fixture.deps).unwrap();
        deps.dkim = Dkim::new(&[dns.address()], Duration::from_secs(5)).unwrap();
        let item = item(&fixture, &signed).await;
        assert_eq!(item.sender_proof.as_str(), expected, "{addressed_to}");
    }
}

#[tokio::test]
async fn sha1_signature_proves_nothing() {
    let signed = by("example.com").sign_by_sha1(&mail_from("example.com"));
    assert_eq!(proof(&signed).await, "signature_unfit");
}

/// When a line without a colon replaces the empty line, the signature is still valid,
/// but a parser may read the first lines of the body as fields.
#[tokio::test]
async fn mail_whose_header_end_is_ambiguous_proves_nothing() {
    let mail = mail_from("example.com")
        .replace("\r\n\r\nYour", "\r\n\r\nReply-To: x@evil.test\r\n\r\nYour");
    let signed = by("example.com").sign(&mail);
    assert_eq!(proof(&signed).await, "dkim");
    let shifted = signed.replacen("\r\n\r\n", "\r\nno field\r\n", 1);
    assert_eq!(proof(&shifted).await, "signature_unfit");
}

#[tokio::test]
async fn replayed_old_mail_is_signature_stale() {
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
async fn authentication_results_in_the_mail_prove_nothing() {
    let mail = format!(
        "Authentication-Results: mx.inbox.test; dkim=pass header.d=example.com; dmarc=pass\r\n{}",
        mail_from("example.com")
    );
    assert_eq!(proof(&mail).await, "no_signature");
}

#[tokio::test]
async fn dns_is_queried_for_the_senders_domain_only() {
    let dns = dns().await;
    let fixture = fixture(&dns).await;
    let mail = by("evil.test").sign(&mail_from("example.com"));
    item(&fixture, &mail).await;
    assert_eq!(dns.asked(), 0);
}

#[tokio::test]
async fn unproven_mail_is_withheld_where_the_inbox_requires_proof() {
    let dns = dns().await;
    for (mail, verdict) in [
        (mail_from("example.com"), "withheld"),
        (by("example.com").sign(&mail_from("example.com")), "usable"),
    ] {
        let fixture = fixture(&dns).await;
        require_proof(&fixture).await;
        let item = item(&fixture, &mail).await;
        assert_eq!(item.verdict.as_str(), verdict);
        let reason = item.verdict.reason().map(pipeline::Reason::as_str);
        let is_withheld = verdict == "withheld";
        assert_eq!(reason, is_withheld.then_some("sender_not_verified"));
    }
}

#[tokio::test]
async fn operator_setting_withholds_every_unproven_mail() {
    let dns = dns().await;
    let mut fixture = fixture(&dns).await;
    Arc::get_mut(&mut fixture.deps)
        .unwrap()
        .settings
        .needs_proof = true;
    let item = item(&fixture, &mail_from("example.com")).await;
    let reason = item.verdict.reason().map(pipeline::Reason::as_str);
    assert_eq!(reason, Some("sender_not_verified"));
}

/// Creates the inbox `agent@inbox.test`, which requires proven senders.
async fn require_proof(fixture: &Fixture) {
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
    let made = fixture.store.inboxes.create_inbox(inbox).await.unwrap();
    assert!(made.fresh().is_some());
}

#[tokio::test]
async fn silent_dns_delays_only_mail_that_needs_a_proof() {
    let signed = by("example.com").sign(&mail_from("example.com"));
    let mute = Dns::mute().await;
    let without_proof = fixture_with_budget(&mute, Duration::from_millis(200)).await;
    let item = item(&without_proof, &signed).await;
    assert_eq!(item.sender_proof.as_str(), "dns_away");
    assert_eq!(item.verdict.as_str(), "usable");

    let mut with_proof = fixture_with_budget(&mute, Duration::from_millis(200)).await;
    let settings = &mut Arc::get_mut(&mut with_proof.deps).unwrap().settings;
    settings.upstream_backoff.wall_clock = Duration::from_millis(500);
    require_proof(&with_proof).await;
    let body = payload("agent@inbox.test", signed.as_bytes());
    with_proof.record("one", &body).await;
    with_proof.work_until_idle().await;
    assert!(with_proof.items("agent@inbox.test").await.is_empty());
    let failures = with_proof.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(failures.len(), 1, "it is kept for the operator");
}

#[tokio::test]
async fn guessed_code_of_a_stranger_does_not_make_the_real_one_a_duplicate() {
    let dns = dns().await;
    let fixture = fixture(&dns).await;
    let real = mail_from("example.com");
    let stranger = mail_from("stranger.test");
    let forged = real.replace("<1@", "<2@");
    let signed = by("example.com").sign(&real);
    for (name, mail) in [("a", stranger), ("b", forged), ("c", signed.clone())] {
        let body = payload("agent@inbox.test", mail.as_bytes());
        fixture.record(name, &body).await;
    }
    let again = by("example.com").sign(&real.replace("<1@", "<3@"));
    fixture
        .record("d", &payload("agent@inbox.test", again.as_bytes()))
        .await;
    fixture.work_until_idle().await;
    let items = fixture.items("agent@inbox.test").await;
    assert_eq!(items.len(), 3, "the proven one and its copy are one");
}

/// The worker has one slot, and the look-up takes six seconds.
#[tokio::test]
async fn mail_is_processed_while_the_only_slot_waits_for_a_slow_look_up() {
    let mute = Dns::mute().await;
    let mut fixture = fixture_with_budget(&mute, Duration::from_secs(6)).await;
    let settings = &mut Arc::get_mut(&mut fixture.deps).unwrap().settings;
    settings.concurrency = 1;
    let slow = by("silent.test").sign(&mail_from("silent.test"));
    let slow = payload("slow@inbox.test", slow.as_bytes());
    fixture.record("slow", &slow).await;
    let quick = payload("agent@inbox.test", mail_from("example.com").as_bytes());
    fixture.record("quick", &quick).await;
    fixture.work_until(|done| done >= 1).await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

/// With four slots and three seconds for each look-up, the worker would need 45 s.
#[tokio::test]
async fn sixty_domains_with_silent_dns_do_not_hold_up_the_next_mail() {
    let mute = Dns::mute().await;
    let fixture = fixture_with_budget(&mute, Duration::from_secs(3)).await;
    for n in 0..60 {
        let domain = format!("silent{n}.test");
        let mail = by(&domain).sign(&mail_from(&domain));
        let body = payload(&format!("other{n}@inbox.test"), mail.as_bytes());
        fixture.record(&domain, &body).await;
    }
    let began = std::time::Instant::now();
    item(&fixture, &mail_from("example.com")).await;
    let elapsed = began.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
}
