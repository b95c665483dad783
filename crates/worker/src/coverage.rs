//! Which of a mail's signatures may speak for its sender, and whether they cover
//! what is read of the mail.
//!
//! A signature holds over what it names. One that leaves out the sender or the
//! subject, or covers the first bytes of the body only (`l=`), or of two subjects
//! one, lets anybody who has seen it write the rest.

use std::time::Duration;

use mail_auth::AuthenticatedMessage;
use mail_auth::common::crypto::Algorithm;
use mail_auth::dkim::Signature;
use pipeline::Timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// No more signatures than this are checked; senders have one or two.
const MOST_SIGNATURES: usize = 3;
/// Looking for signed fields takes as many steps as fields times names.
const MOST_FIELDS: usize = 1_000;
const MOST_NAMES: usize = 100;
/// A signature holds for ever, and whoever has the mail may send it again; what
/// was signed this long before it was received is not taken for new.
const FRESH: Duration = Duration::from_hours(24);

/// No signature of a mail may speak for its sender, for this reason.
pub(crate) struct Unfit(pub(crate) &'static str);

/// The mail with those of its signatures that may speak for `domain`.
pub(crate) fn prepare<'m>(
    raw: &'m [u8],
    domain: &str,
    at: Timestamp,
) -> Result<AuthenticatedMessage<'m>, Unfit> {
    let mut message = AuthenticatedMessage::parse(raw).ok_or(Unfit("no_signature"))?;
    if message.dkim_headers.is_empty() {
        let partial = !message.errors.is_empty();
        return Err(Unfit(if partial {
            "signature_unfit"
        } else {
            "no_signature"
        }));
    }
    check(message.headers.len() <= MOST_FIELDS, "sender_odd")?;
    // A line without a colon ends the fields for one reader and not for another: what
    // is signed as the body's beginning could be read as fields, and a sender with it.
    let body_offset = usize::try_from(message.body_offset).ok();
    check(extract::body_offset(raw) == body_offset, "signature_unfit")?;
    message.errors.clear();
    let mut signatures = std::mem::take(&mut message.dkim_headers);
    signatures.retain(|field| is_aligned(&field.header.d, domain));
    check(!signatures.is_empty(), "not_aligned")?;
    signatures.retain(|field| covers(&message, &field.header));
    check(!signatures.is_empty(), "signature_unfit")?;
    signatures.retain(|field| is_fresh(&message, &field.header, at));
    check(!signatures.is_empty(), "signature_stale")?;
    signatures.truncate(MOST_SIGNATURES);
    for field in &mut signatures {
        // Reports and signatures by third parties ask for further records.
        (field.header.r, field.header.atps) = (false, None);
    }
    message.dkim_headers = signatures;
    Ok(message)
}

fn check(holds: bool, reason: &'static str) -> Result<(), Unfit> {
    if holds { Ok(()) } else { Err(Unfit(reason)) }
}

/// Whether whoever signs for one domain may speak for the other: somebody has
/// registered both as one.
pub(crate) fn is_aligned(signer: &str, domain: &str) -> bool {
    let signer = signer.trim_end_matches('.').to_ascii_lowercase();
    let registered = extract::registrable(domain);
    registered.is_some() && extract::registrable(&signer) == registered
}

/// Whether every sender, subject, date and type of the mail is signed, and by an
/// algorithm that counts: RFC 8301 takes SHA-1 for no signature at all.
fn covers(message: &AuthenticatedMessage<'_>, signature: &Signature) -> bool {
    let named = |name: &str| {
        let names = signature.h.iter();
        names.filter(|h| h.eq_ignore_ascii_case(name)).count()
    };
    let signs_all = |name: &str| named(name) >= count(message, name);
    signature.a != Algorithm::RsaSha1
        && signature.h.len() <= MOST_NAMES
        && named("from") > 0
        && ["from", "subject", "date"].into_iter().all(signs_all)
        // Big senders leave the type out; but then there must be one alone.
        && (count(message, "content-type") <= 1 || signs_all("content-type"))
}

fn count(message: &AuthenticatedMessage<'_>, name: &str) -> usize {
    let fields = message.headers.iter();
    fields
        .filter(|(field, _)| field.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
        .count()
}

/// Whether it was signed, or else dated, shortly before the mail was received.
fn is_fresh(message: &AuthenticatedMessage<'_>, signature: &Signature, at: Timestamp) -> bool {
    let signed = i64::try_from(signature.t).ok().filter(|t| *t > 0);
    let Some(seconds) = signed.or_else(|| date(message)) else {
        return false;
    };
    let moment = Timestamp::from_millis(seconds.saturating_mul(1_000));
    at.since(moment) <= FRESH && moment.since(at) <= FRESH
}

/// When the mail says it was written, in Unix seconds.
fn date(message: &AuthenticatedMessage<'_>) -> Option<i64> {
    let field = message
        .headers
        .iter()
        .find(|(name, _)| name.trim_ascii().eq_ignore_ascii_case(b"date"))?;
    let text = std::str::from_utf8(field.1).ok()?;
    // `(UTC)` behind it is a comment.
    let text = text.split('(').next()?.trim();
    let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(date.unix_timestamp())
}
