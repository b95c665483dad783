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
const MOST_FIELDS: usize = 1_000;
const MOST_NAMES: usize = 100;
/// The parser looks at the rest of a field behind each encoded word that does not end, so
/// the bytes and these words are bounded, too.
const LONGEST_HEADER: usize = 512 * 1024;
const MOST_ENCODED_WORDS: usize = 500;
/// A signature never expires, and anybody who has the mail can send it again. A mail
/// that was signed longer than this before it was received is not accepted as new.
const FRESH: Duration = Duration::from_hours(24);

/// No signature of a mail may prove its sender, for this reason.
pub(super) struct Unfit(pub(super) &'static str);

/// Reads the header of a mail for its signatures.
pub(super) fn read(raw: &[u8]) -> Result<AuthenticatedMessage<'_>, Unfit> {
    let length = extract::body_offset(raw).ok_or(Unfit("sender_odd"))?;
    let header = raw.get(..length).unwrap_or(raw);
    check(header.len() <= LONGEST_HEADER, "sender_odd")?;
    let words = header.windows(2).filter(|pair| pair == b"=?").count();
    check(words <= MOST_ENCODED_WORDS, "sender_odd")?;
    let message = AuthenticatedMessage::parse(raw).ok_or(Unfit("no_signature"))?;
    check(message.headers.len() <= MOST_FIELDS, "sender_odd")?;
    Ok(message)
}

/// Refuses a header that others read in another way than it was signed.
pub(super) fn refuse_ambiguous(
    raw: &[u8],
    message: &AuthenticatedMessage<'_>,
) -> Result<(), Unfit> {
    // Parsers disagree on whether a line without a colon ends the fields. What was
    // signed as the start of the body must not be read as fields.
    let body_offset = usize::try_from(message.body_offset).ok();
    check(extract::body_offset(raw) == body_offset, "signature_unfit")?;
    // Readers take `To :` for `To`, and the check of a signature does not. A signature that
    // names `To` once more than the mail has it would seem to cover it.
    let mut names = message.headers.iter().map(|(name, _)| name);
    let are_plain = names.all(|name| name.trim_ascii().len() == name.len());
    check(are_plain, "signature_unfit")
}

/// The mail with only those of its signatures that may prove `domain`.
pub(super) fn prepare<'m>(
    raw: &'m [u8],
    domain: &str,
    at: Timestamp,
) -> Result<AuthenticatedMessage<'m>, Unfit> {
    let mut message = read(raw)?;
    if message.dkim_headers.is_empty() {
        let partial = !message.errors.is_empty();
        return Err(Unfit(if partial {
            "signature_unfit"
        } else {
            "no_signature"
        }));
    }
    refuse_ambiguous(raw, &message)?;
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

/// Whether a valid signature of `domain`, whichever it is, proves the mail as it is read: a
/// provider says that there is one, and not what it covers.
pub(super) fn any_would_prove(raw: &[u8], domain: &str, at: Timestamp) -> bool {
    let Ok(message) = read(raw) else {
        return false;
    };
    let fits =
        |signature: &Signature| covers(&message, signature) && is_fresh(&message, signature, at);
    let signatures = message.dkim_headers.iter().map(|field| &field.header);
    let own: Vec<&Signature> = signatures
        .filter(|signature| is_aligned(&signature.d, domain))
        .collect();
    // One that cannot be read here may be the valid one.
    message.errors.is_empty()
        && refuse_ambiguous(raw, &message).is_ok()
        && !own.is_empty()
        && own.into_iter().all(fits)
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
