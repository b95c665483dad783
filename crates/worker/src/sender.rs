//! Whether a mail comes from the domain that it names. Two things can prove it: a
//! verdict of the provider, inside what the provider signed, or a DKIM signature.
//!
//! An `Authentication-Results` field in the mail proves nothing: anybody can write
//! one.

mod addressees;
mod body;
mod coverage;
mod dkim;
mod key_record;
mod keys;

use std::collections::BTreeSet;
use std::sync::Arc;

use extract::FromAddress;
use pipeline::{InboxId, Reason, SenderProof, Timestamp};
use providers::SenderVerdict;
use tokio::task::spawn_blocking;

use crate::slot::Slot;
use coverage::{any_would_prove, is_aligned};
use dkim::DkimCheck;

pub use dkim::{Dkim, DkimError};

/// What the proof of a sender is looked for in.
pub(crate) struct Evidence<'e> {
    /// The mail.
    pub(crate) raw: Arc<Vec<u8>>,
    /// Whether the mail was rebuilt from parsed fields, which no signature covers.
    pub(crate) is_rebuilt: bool,
    /// The provider's verdict.
    pub(crate) verdict: Option<&'e SenderVerdict>,
    /// Whether the provider names another sender than the mail.
    pub(crate) is_contradicted: bool,
    /// The sender that the mail names.
    pub(crate) from: &'e FromAddress,
    /// When the mail was received.
    pub(crate) received_at: Timestamp,
    /// The slot of the mail's delivery. It is given up during a slow look-up.
    pub(crate) slot: &'e mut Slot,
}

/// The result of looking for a proof.
pub(crate) enum ProofResult {
    /// The sender is proven, or it is known why not.
    Known(Proof),
    /// It was not found out, for this reason; a later attempt may succeed.
    NotNow(Reason),
}

/// What proves the sender of a mail, or why nothing does.
pub(crate) struct Proof {
    found: SenderProof,
    /// The addresses in `To` and `Cc` that the proof covers.
    addressees: BTreeSet<InboxId>,
}

impl Proof {
    /// Nothing proves the sender, for this reason.
    pub(crate) fn missing(reason: Reason) -> Self {
        Self::without(SenderProof::Missing(reason))
    }

    fn without(found: SenderProof) -> Self {
        Self {
            found,
            addressees: BTreeSet::new(),
        }
    }

    /// The proof for an inbox. Anybody who has a signed mail can send it to any inbox, so
    /// the proof counts only for the inboxes that the mail is addressed to. `is_own` says
    /// whether an address belongs to the inbox.
    pub(crate) fn for_inbox(&self, is_own: impl Fn(&InboxId) -> bool) -> SenderProof {
        if self.found.holds() && !self.addressees.iter().any(is_own) {
            return SenderProof::Missing(Reason::new("not_addressed"));
        }
        self.found.clone()
    }

    /// The proof without regard to whom the mail was addressed to.
    pub(crate) fn for_anybody(&self) -> SenderProof {
        self.found.clone()
    }
}

impl ProofResult {
    fn missing(slug: &'static str) -> Self {
        Self::Known(Proof::missing(Reason::new(slug)))
    }
}

/// Looks for a proof of a mail's sender.
pub(crate) async fn prove(dkim: Option<&Dkim>, evidence: Evidence<'_>) -> ProofResult {
    if evidence.verdict == Some(&SenderVerdict::Refuted) {
        return ProofResult::Known(Proof::without(SenderProof::REFUTED));
    }
    let Some(domain) = evidence.from.domain.as_deref() else {
        return ProofResult::missing("sender_odd");
    };
    let is_senders = |signer: &String| is_aligned(signer, domain);
    match evidence
        .verdict
        .filter(|verdict| is_about(verdict, &evidence))
    {
        Some(SenderVerdict::Proven) => return by_provider(evidence.raw, domain).await,
        Some(SenderVerdict::SignedBy(signers)) if signers.iter().any(is_senders) => {
            let (raw, at) = (Arc::clone(&evidence.raw), evidence.received_at);
            let signer = domain.to_owned();
            let checking = spawn_blocking(move || any_would_prove(&raw, &signer, at));
            if checking.await.unwrap_or(false) {
                return by_provider(evidence.raw, domain).await;
            }
        }
        Some(SenderVerdict::SignedBy(_) | SenderVerdict::Refuted) | None => {}
    }
    if evidence.is_rebuilt {
        return ProofResult::missing("rebuilt");
    }
    let Some(dkim) = dkim else {
        return ProofResult::missing("unchecked");
    };
    let at = evidence.received_at;
    let checking = dkim.check(evidence.raw, domain.to_owned(), at, evidence.slot);
    match checking.await {
        DkimCheck::Valid(addressees) => ProofResult::Known(Proof {
            found: SenderProof::Dkim,
            addressees,
        }),
        DkimCheck::Invalid(reason) => ProofResult::missing(reason),
        DkimCheck::DnsUnavailable => ProofResult::NotNow(Reason::new("dns_away")),
        DkimCheck::Late => ProofResult::NotNow(Reason::new("check_late")),
    }
}

/// Whether a verdict is about the sender that was read from the mail. A provider that names
/// another one has read the mail in another way. One that says nothing of the signatures may
/// also have read another sender from a field that parsers read differently.
fn is_about(verdict: &SenderVerdict, evidence: &Evidence<'_>) -> bool {
    let is_by_from_alone = *verdict == SenderVerdict::Proven;
    !evidence.is_contradicted && (evidence.from.is_plain || !is_by_from_alone)
}

/// The proof by a provider's verdict.
async fn by_provider(raw: Arc<Vec<u8>>, domain: &str) -> ProofResult {
    let domain = domain.to_owned();
    // A blocking thread, because the mail may be large.
    let reading = spawn_blocking(move || addressees::named(&raw, &domain));
    match reading.await {
        Ok(addressees) => ProofResult::Known(Proof {
            found: SenderProof::Provider,
            addressees,
        }),
        Err(_panicked) => ProofResult::missing("signature_unreadable"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO_AGENT: &str = "From: a@mail.example.com\r\nTo: agent@inbox.test\r\n\r\nhi\r\n";

    /// What a verdict about a mail proves to `agent@inbox.test`, without any DNS.
    async fn proof_of(raw: &str, verdict: Option<SenderVerdict>, is_rebuilt: bool) -> String {
        let from = FromAddress {
            address: Some("a@mail.example.com".to_owned()),
            domain: Some("mail.example.com".to_owned()),
            is_plain: true,
        };
        proof_from(&from, raw, (verdict, false), is_rebuilt).await
    }

    /// The same for this sender, and a verdict with whether the provider names another one.
    async fn proof_from(
        from: &FromAddress,
        raw: &str,
        (verdict, is_contradicted): (Option<SenderVerdict>, bool),
        is_rebuilt: bool,
    ) -> String {
        let slots = Arc::new(tokio::sync::Semaphore::new(1));
        let mut slot = Slot::take(&slots).await.unwrap();
        let evidence = Evidence {
            slot: &mut slot,
            raw: Arc::new(raw.as_bytes().to_vec()),
            is_rebuilt,
            verdict: verdict.as_ref(),
            is_contradicted,
            from,
            received_at: Timestamp::from_millis(0),
        };
        let is_own = |address: &InboxId| address.as_str() == "agent@inbox.test";
        match prove(None, evidence).await {
            ProofResult::Known(proof) => proof.for_inbox(is_own).as_str().to_owned(),
            ProofResult::NotNow(reason) => reason.as_str().to_owned(),
        }
    }

    /// What a verdict proves about a mail from `mail.example.com`.
    async fn proof(verdict: Option<SenderVerdict>, is_rebuilt: bool) -> String {
        proof_of(TO_AGENT, verdict, is_rebuilt).await
    }

    fn signed_by(domain: &str) -> SenderVerdict {
        SenderVerdict::SignedBy(vec![domain.to_owned()])
    }

    #[tokio::test]
    async fn provider_verdict_proves_or_refutes_the_senders_domain() {
        assert_eq!(proof(Some(SenderVerdict::Proven), true).await, "provider");
        let refuted = proof(Some(SenderVerdict::Refuted), false).await;
        assert_eq!(refuted, "provider_refuted");
    }

    #[tokio::test]
    async fn provider_that_names_another_sender_proves_nothing_and_still_refutes() {
        let from = |is_plain| FromAddress {
            address: Some("a@mail.example.com".to_owned()),
            domain: Some("mail.example.com".to_owned()),
            is_plain,
        };
        let good = signed("from:to:subject");
        for (verdict, is_plain, is_contradicted, expected) in [
            (SenderVerdict::Proven, true, false, "provider"),
            (SenderVerdict::Proven, true, true, "unchecked"),
            (SenderVerdict::Proven, false, false, "unchecked"),
            (signed_by("example.com"), true, false, "provider"),
            (signed_by("example.com"), true, true, "unchecked"),
            // The signature covers the field, however it is read.
            (signed_by("example.com"), false, false, "provider"),
            (SenderVerdict::Refuted, false, true, "provider_refuted"),
        ] {
            let said = format!("{verdict:?}, {is_plain}, {is_contradicted}");
            let verdict = (Some(verdict), is_contradicted);
            let proof = proof_from(&from(is_plain), &good, verdict, false).await;
            assert_eq!(proof, expected, "{said}");
        }
        let nobody = FromAddress::default();
        let refuted = (Some(SenderVerdict::Refuted), false);
        let refuted = proof_from(&nobody, &good, refuted, false).await;
        assert_eq!(refuted, "provider_refuted");
    }

    /// A mail with a signature of these fields. Only the provider knows whether it is valid.
    fn signed(fields: &str) -> String {
        format!(
            "DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=m; t=1; h={fields}; bh=AAAA; \
             b=AAAA\r\nSubject: Your code\r\n{TO_AGENT}"
        )
    }

    #[tokio::test]
    async fn providers_result_of_a_signature_counts_for_what_the_signature_covers() {
        let verdict = || Some(signed_by("Example.com"));
        let good = signed("from:to:subject");
        for is_rebuilt in [false, true] {
            assert_eq!(proof_of(&good, verdict(), is_rebuilt).await, "provider");
        }
        let second_subject = format!("Subject: Another\r\n{good}");
        let fields_with_blanks = format!("Subject : Another\r\n{good}");
        let oversigned = signed("from:to:subject:subject");
        let oversigned_with_blanks = format!("Subject : Another\r\n{oversigned}");
        let beside_another = format!("{}{good}", unfit_signature());
        // `SendGrid` would report `{@example.com : pass, @evil.test : fail}`.
        let made_up = good.replace("d=example.com", "d=example.com : pass, @evil.test");
        let signer = format!("{made_up}{good}");
        let identity = good.replace("d=", "i=@example.com : pass, @x.test; d=");
        let identity = format!("{identity}{good}");
        let older = format!("DomainKey-Signature: a=rsa-sha1; d=example.com; b=AAAA\r\n{good}");
        let lone_return = good.replace("Your code", "Your\r code");
        for mail in [
            TO_AGENT.to_owned(),
            signed("from:to"),
            second_subject,
            fields_with_blanks,
            oversigned_with_blanks,
            beside_another,
            signer,
            identity,
            older,
            lone_return,
        ] {
            assert_eq!(
                proof_of(&mail, verdict(), false).await,
                "unchecked",
                "{mail}"
            );
            assert_eq!(proof_of(&mail, verdict(), true).await, "rebuilt", "{mail}");
        }
    }

    /// It covers no subject, and may be the valid one of two.
    fn unfit_signature() -> &'static str {
        "DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=m; t=1; h=from; bh=AAAA; b=AAAA\r\n"
    }

    #[tokio::test]
    async fn header_that_a_parser_reads_for_hours_proves_nothing() {
        let from = format!("From: x{}\r\n", " =?11?q?".repeat(100_000));
        let mail = format!("{from}{TO_AGENT}");
        let proven = proof_of(&mail, Some(SenderVerdict::Proven), false);
        assert_eq!(proven.await, "not_addressed");
        let signed = format!("{from}{}", signed("from:from:to:subject"));
        let verdict = Some(signed_by("example.com"));
        assert_eq!(proof_of(&signed, verdict, false).await, "unchecked");
    }

    #[tokio::test]
    async fn provider_verdict_about_a_mail_to_somebody_else_is_not_addressed() {
        let to_other = TO_AGENT.replace("agent@", "other@");
        let verdict = || Some(SenderVerdict::Proven);
        assert_eq!(proof_of(&to_other, verdict(), false).await, "not_addressed");
        let unsigned_to = format!(
            "DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=m; h=from; bh=AAAA; b=AAAA\r\n\
             {TO_AGENT}"
        );
        assert_eq!(
            proof_of(&unsigned_to, verdict(), false).await,
            "not_addressed"
        );
        let signed_to = unsigned_to.replace("h=from", "h=from:to");
        assert_eq!(proof_of(&signed_to, verdict(), false).await, "provider");
    }

    #[tokio::test]
    async fn signature_of_another_domain_proves_nothing() {
        for other in [
            "evil.test",
            "com",
            "example.com.evil.test",
            "notexample.com",
        ] {
            assert_eq!(
                proof(Some(signed_by(other)), false).await,
                "unchecked",
                "{other}"
            );
        }
        assert_eq!(proof(None, true).await, "rebuilt");
    }
}
