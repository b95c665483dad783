//! Which of a mail's signatures may prove its sender, and whether they cover what
//! is read from the mail.
//!
//! A signature covers only what it names. If it leaves out the sender or the
//! subject, covers only the first bytes of the body (`l=`), or covers one of two
//! subjects, anybody who has the mail can change the rest.

use std::time::Duration;

use mail_auth::AuthenticatedMessage;
use mail_auth::common::crypto::Algorithm;
use mail_auth::dkim::Signature;
use pipeline::Timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// Fields that decide what is read. Every one that a mail has must be signed: an
/// unsigned `Content-Transfer-Encoding` added later changes the text of a signed body.
const COVERED: [&str; 5] = [
    "from",
    "subject",
    "date",
    "content-type",
    "content-transfer-encoding",
];
/// At most this many signatures are checked; senders have one or two.
const MOST_SIGNATURES: usize = 3;
/// Matching signed names to fields takes (fields × names) steps, so both are bounded.
pub(super) const MOST_FIELDS: usize = 1_000;
const MOST_NAMES: usize = 100;
/// A signature never expires, and anybody who has the mail can send it again. A mail
/// that was signed longer than this before it was received is not accepted as new.
const FRESH: Duration = Duration::from_hours(24);

/// No signature of a mail may prove its sender, for this reason.
pub(super) struct Unfit(pub(super) &'static str);

/// The mail with only those of its signatures that may prove `domain`.
pub(super) fn prepare<'m>(
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
    // Parsers disagree on whether a line without a colon ends the fields. What was
    // signed as the start of the body must not be read as fields.
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
        // Reports and third-party signatures would cause further DNS queries.
        (field.header.r, field.header.atps) = (false, None);
    }
    message.dkim_headers = signatures;
    Ok(message)
}

fn check(holds: bool, reason: &'static str) -> Result<(), Unfit> {
    if holds { Ok(()) } else { Err(Unfit(reason)) }
}

/// Whether a signature of `signer` may prove a sender at `domain`: both have the
/// same registrable domain.
pub(super) fn is_aligned(signer: &str, domain: &str) -> bool {
    let signer = signer.trim_end_matches('.').to_ascii_lowercase();
    let registered = extract::registrable(domain);
    registered.is_some() && extract::registrable(&signer) == registered
}

/// Whether every sender, subject, date and type field of the mail is signed, by an
/// accepted algorithm. RFC 8301 forbids SHA-1.
fn covers(message: &AuthenticatedMessage<'_>, signature: &Signature) -> bool {
    signature.a != Algorithm::RsaSha1
        && signature.h.len() <= MOST_NAMES
        && named(signature, "from") > 0
        && COVERED
            .into_iter()
            .all(|name| signs_all(message, signature, name))
}

/// Whether a signature covers every field of this name that the mail has.
pub(super) fn signs_all(
    message: &AuthenticatedMessage<'_>,
    signature: &Signature,
    name: &str,
) -> bool {
    named(signature, name) >= count(message, name)
}

/// How many fields of this name a signature covers.
fn named(signature: &Signature, name: &str) -> usize {
    let names = signature.h.iter();
    names.filter(|h| h.eq_ignore_ascii_case(name)).count()
}

fn count(message: &AuthenticatedMessage<'_>, name: &str) -> usize {
    let fields = message.headers.iter();
    fields
        .filter(|(field, _)| field.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
        .count()
}

/// Whether the mail was signed, or if that is not stated dated, shortly before it
/// was received.
fn is_fresh(message: &AuthenticatedMessage<'_>, signature: &Signature, at: Timestamp) -> bool {
    let signed = i64::try_from(signature.t).ok().filter(|t| *t > 0);
    let Some(seconds) = signed.or_else(|| date(message)) else {
        return false;
    };
    let moment = Timestamp::from_millis(seconds.saturating_mul(1_000));
    at.since(moment) <= FRESH && moment.since(at) <= FRESH
}

/// The mail's `Date` field, in Unix seconds.
fn date(message: &AuthenticatedMessage<'_>) -> Option<i64> {
    let field = message
        .headers
        .iter()
        .find(|(name, _)| name.trim_ascii().eq_ignore_ascii_case(b"date"))?;
    let text = std::str::from_utf8(field.1).ok()?;
    // A trailing `(UTC)` is a comment.
    let text = text.split('(').next()?.trim();
    let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(date.unix_timestamp())
}
