//! Signed mail that was changed, and signatures that must not count.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use testkit::dkim::{Signer, key_name, key_record};
use testkit::dns::Dns;
use worker::Dkim;

use crate::fixture::{Fixture, payload};
use crate::senders::{by, dns, fixture, item, mail_from, now, proof};

/// What proves the sender of a mail from `example.com` whose key is published like this.
async fn proof_with_key(mail: &str, record: &str) -> String {
    let name = key_name("example.com");
    let dns = Dns::knowing(BTreeMap::from([(name, record.to_owned())])).await;
    let fixture = fixture(&dns).await;
    item(&fixture, mail).await.sender_proof.as_str().to_owned()
}

/// The check of a signature skips these characters, so it stays valid.
#[tokio::test]
async fn control_characters_added_to_a_signed_mail_prove_nothing() {
    let mail = mail_from("example.com");
    for signed in [
        by("example.com").sign(&mail),
        by("example.com").sign_relaxed(&mail),
    ] {
        assert_eq!(proof(&signed).await, "dkim");
        let added = signed.replace("is 493817", "is 493\r817");
        assert_eq!(proof(&added).await, "signature_unfit");
        let at_the_end = signed.replace("817.\r\n", "817.\r\n\r");
        assert_eq!(proof(&at_the_end).await, "signature_unfit");
    }
    let relaxed = by("example.com").sign_relaxed(&mail);
    for odd in ['\r', '\u{c}'] {
        let subject = relaxed.replace("Subject: Your", &format!("Subject: Yo{odd}ur"));
        assert_eq!(proof(&subject).await, "signature_unfit", "{odd:?}");
    }
}

/// Servers pass mail on with other line ends.
#[tokio::test]
async fn signed_mail_with_bare_line_feeds_is_proven() {
    let signed = by("example.com").sign_relaxed(&mail_from("example.com"));
    assert_eq!(proof(&signed.replace("\r\n", "\n")).await, "dkim");
}

/// `example.com` behind an escaped dot is a part of one label.
#[tokio::test]
async fn signer_with_an_escape_in_its_name_is_not_aligned() {
    for signer in [r"evil\.example.com", r"x\046example.com", "example.com."] {
        let signed = by(signer).sign(&mail_from("example.com"));
        assert_eq!(proof(&signed).await, "not_aligned", "{signer}");
    }
    let selector = by("example.com").sign(&mail_from("example.com"));
    let selector = selector.replace("s=mail", r"s=x\.mail");
    assert_eq!(proof(&selector).await, "signature_unfit");
}

/// Who runs a public suffix does not speak for the domains below it, nor does a neighbour.
#[tokio::test]
async fn public_suffix_and_its_other_domains_are_not_aligned() {
    for (sender, signer) in [
        ("shop.co.uk", "co.uk"),
        ("shop.co.uk", "other.co.uk"),
        ("shop.github.io", "github.io"),
        ("shop.github.io", "other.github.io"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("example.com", "com"),
    ] {
        let signed = by(signer).sign(&mail_from(sender));
        assert_eq!(proof(&signed).await, "not_aligned", "{sender} {signer}");
    }
}

#[tokio::test]
async fn signature_by_a_key_that_must_not_be_used_is_key_unfit() {
    let signed = by("example.com").sign(&mail_from("example.com"));
    let record = key_record();
    let (_, key) = record.split_once("p=").unwrap();
    assert_eq!(proof_with_key(&signed, &record).await, "dkim");
    for fit in [
        format!("v=DKIM1; p={key}"),
        format!("v=DKIM1; h=sha1:sha256; s=other:email; t=s; p={key}"),
        format!("v=DKIM1; s=*; n=t=y; p={key}"),
    ] {
        assert_eq!(proof_with_key(&signed, &fit).await, "dkim", "{fit}");
    }
    for unfit in [
        format!("v=DKIM1; k=rsa; t=y; p={key}"),
        format!("v=DKIM1; t=s : Y; p={key}"),
        format!("v=DKIM1; s=tlsrpt; p={key}"),
        format!("v=DKIM1; h=sha1; p={key}"),
        "v=DKIM1; k=rsa; p=".to_owned(),
        // RSA with 768 bits.
        "v=DKIM1; p=MHwwDQYJKoZIhvcNAQEBBQADawAwaAJhAKnPnXE/DlUSwkAJ/pAZUeXkOhJOpR2oyzXR\
         hWGDrM+VFdTtuSUMwISPJrjxQlPZhVPKQrtGwL7uGkb7zqSGpU5SlDz71us+gag8YXIKf9PUa8Dsb1m7\
         uVMDus0GRooBSwIDAQAB"
            .to_owned(),
    ] {
        let proof = proof_with_key(&signed, &unfit).await;
        assert_eq!(proof, "key_unfit", "{unfit}");
    }
    let policy = "v=spf1 -all";
    assert_eq!(proof_with_key(&signed, policy).await, "key_missing");
    let other_kind = format!("v=DKIM1; k=ed25519; p={key}");
    let proof = proof_with_key(&signed, &other_kind).await;
    assert_eq!(proof, "signature_failed");
}

#[tokio::test]
async fn expired_signature_and_one_of_the_future_are_stale() {
    let (day, mail) = (24 * 60 * 60, mail_from("example.com"));
    for (at, tags, expected) in [
        (now(), format!("x={}; ", now() + 60), "dkim"),
        (
            now() - 120,
            format!("x={}; ", now() - 60),
            "signature_stale",
        ),
        (now(), format!("x={}; ", now() - 1), "signature_stale"),
        (now() + 2 * day, String::new(), "signature_stale"),
    ] {
        let signer = Signer {
            at: Some(at),
            tags: &tags,
            ..by("example.com")
        };
        assert_eq!(proof(&signer.sign(&mail)).await, expected, "{at} {tags}");
    }
}

#[tokio::test]
async fn identity_outside_of_the_signing_domain_proves_nothing() {
    for (identity, expected) in [
        ("i=shop@example.com; ", "dkim"),
        ("i=@mail.example.com; ", "dkim"),
        ("i=@evil.test; ", "signature_failed"),
        ("i=@badexample.com; ", "signature_failed"),
        ("i=@com; ", "signature_failed"),
    ] {
        let signer = Signer {
            tags: identity,
            ..by("example.com")
        };
        let mail = signer.sign(&mail_from("example.com"));
        assert_eq!(proof(&mail).await, expected, "{identity}");
    }
}

/// What others say about a mail, in fields that anybody can write.
#[tokio::test]
async fn arc_and_other_results_in_the_mail_prove_nothing() {
    let results = "dkim=pass header.d=example.com; spf=pass; dmarc=pass";
    let mail = format!(
        "ARC-Seal: i=1; a=rsa-sha256; t={}; cv=none; d=evil.test; s=mail; b=AAAA\r\n\
         ARC-Message-Signature: i=1; a=rsa-sha256; d=example.com; s=mail; h=from:to:subject; \
         bh=AAAA; b=AAAA\r\n\
         ARC-Authentication-Results: i=1; mx.evil.test; {results}\r\n\
         Received-SPF: pass\r\nX-SES-DKIM-SIGNATURE: a=rsa-sha256; d=example.com\r\n{}",
        now(),
        mail_from("example.com")
    );
    assert_eq!(proof(&mail).await, "no_signature");
}

/// The signature covers the field, so its value cannot be moved into another one.
#[tokio::test]
async fn sender_is_never_read_from_another_field() {
    let signed = by("evil.test").sign(&mail_from("evil.test"));
    for added in [
        "Sender: no-reply@example.com",
        "Resent-From: no-reply@example.com",
        "Reply-To: no-reply@example.com",
        "X-From: no-reply@example.com",
    ] {
        let dns = dns().await;
        let fixture = fixture(&dns).await;
        let item = item(&fixture, &format!("{added}\r\n{signed}")).await;
        assert_eq!(item.sender_domain.as_deref(), Some("evil.test"), "{added}");
    }
}

/// The first three are looked at. Whether the others are valid is not known.
#[tokio::test]
async fn valid_signature_behind_too_many_others_is_unchecked() {
    let signed = by("example.com").sign(&mail_from("example.com"));
    let (field, _) = signed.split_once("\r\n").unwrap();
    let (tags, _) = field.split_once("; b=").unwrap();
    let wrong = format!("{tags}; b={}\r\n", "A".repeat(344));
    for (before, expected) in [(2, "dkim"), (3, "signature_unchecked")] {
        let mail = format!("{}{signed}", wrong.repeat(before));
        assert_eq!(proof(&mail).await, expected, "{before}");
    }
    assert_eq!(
        proof(&format!("{wrong}{}", mail_from("example.com"))).await,
        "signature_failed"
    );
}

/// An attacker's part of the domain does not answer. The key of the real sender is known.
#[tokio::test]
async fn silent_part_of_a_domain_does_not_cost_its_other_mail_the_proof() {
    let key = (key_name("example.com"), key_record());
    let dns = Dns::with_silence(BTreeMap::from([key]), "silent.example.com").await;
    let mut fixture = Fixture::open().await;
    let deps = Arc::get_mut(&mut fixture.deps).unwrap();
    deps.dkim = Dkim::new(&[dns.address()], Duration::from_secs(1)).unwrap();
    let post = async |id: &str, mail: &str| {
        let body = payload(&format!("{id}@inbox.test"), mail.as_bytes());
        fixture.record(id, &body).await;
        fixture.work_until_idle().await;
        let mut items = fixture.items(&format!("{id}@inbox.test")).await;
        items.remove(0).sender_proof.as_str().to_owned()
    };
    let to = |id: &str| mail_from("example.com").replace("agent@", &format!("{id}@"));
    let real = |id: &str| by("example.com").sign(&to(id));
    assert_eq!(post("a", &real("a")).await, "dkim");
    let hostile = by("silent.example.com").sign(&to("b"));
    assert_eq!(post("b", &hostile).await, "dns_away");
    assert_eq!(post("c", &real("c")).await, "dkim");
}

/// A mail without a signature needs no DNS, so it does not wait for one.
#[tokio::test]
async fn unsigned_mail_of_a_silent_domain_is_no_signature_at_once() {
    let mute = Dns::mute().await;
    let mut fixture = Fixture::open().await;
    let deps = Arc::get_mut(&mut fixture.deps).unwrap();
    deps.dkim = Dkim::new(&[mute.address()], Duration::from_mins(1)).unwrap();
    let began = Instant::now();
    let item = item(&fixture, &mail_from("example.com")).await;
    assert_eq!(item.sender_proof.as_str(), "no_signature");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(mute.asked(), 0);
}

/// The names come from an unknown sender, and there may be many.
#[tokio::test]
async fn each_key_of_a_mail_is_queried_once_and_only_for_the_first_signatures() {
    let dns = dns().await;
    let fixture = fixture(&dns).await;
    let signed = by("example.com").sign(&mail_from("example.com"));
    let (field, rest) = signed.split_once("\r\n").unwrap();
    let other = |n: usize| field.replace("s=mail", &format!("s=other{n}"));
    let others: Vec<String> = (0..300).map(other).collect();
    let mail = format!("{}\r\n{rest}", others.join("\r\n"));
    let proof = item(&fixture, &mail).await.sender_proof;
    assert_eq!(proof.as_str(), "signature_unchecked");
    assert!(dns.asked() <= 3, "{}", dns.asked());
}
