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
/// the bytes and these words are bounded, and the product of both.
const LONGEST_HEADER: usize = 512 * 1024;
const MOST_ENCODED_WORDS: usize = 500;
const MOST_STEPS: usize = 8 * 1024 * 1024;
/// A signature never expires, and anybody who has the mail can send it again. A mail
/// that was signed longer than this before it was received is not accepted as new.
const FRESH: Duration = Duration::from_hours(24);

/// No signature of a mail may prove its sender, for this reason.
pub(super) struct Unfit(pub(super) &'static str);

/// Reads the header of a mail for its signatures. The library would also hash the body, so
/// it does not see it.
pub(super) fn read(raw: &[u8]) -> Result<AuthenticatedMessage<'_>, Unfit> {
    let length = extract::body_offset(raw).ok_or(Unfit("sender_odd"))?;
    // The first byte of the body shows whether the library ends the header where we do.
    let header = raw.get(..length + 1).unwrap_or(raw);
    check(header.len() <= LONGEST_HEADER, "signature_unreadable")?;
    let words = header.windows(2).filter(|pair| pair == b"=?").count();
    let is_quick = words <= MOST_ENCODED_WORDS && words * header.len() <= MOST_STEPS;
    check(is_quick, "signature_unreadable")?;
    let message = AuthenticatedMessage::parse(header).ok_or(Unfit("no_signature"))?;
    check(message.headers.len() <= MOST_FIELDS, "signature_unreadable")?;
    Ok(message)
}

/// Refuses a mail that others read in another way than it was signed.
pub(super) fn refuse_ambiguous(
    raw: &[u8],
    message: &AuthenticatedMessage<'_>,
) -> Result<(), Unfit> {
    // Parsers disagree on whether a line without a colon ends the fields. What was
    // signed as the start of the body must not be read as fields.
    let body_offset = usize::try_from(message.body_offset).unwrap_or(usize::MAX);
    check(
        extract::body_offset(raw) == Some(body_offset),
        "signature_unfit",
    )?;
    // Readers take `To :` for `To`, and the check of a signature does not. A signature that
    // names `To` once more than the mail has it would seem to cover it.
    let mut names = message.headers.iter().map(|(name, _)| name);
    let are_plain = names.all(|name| name.trim_ascii().len() == name.len());
    check(are_plain, "signature_unfit")?;
    // The check of a signature skips carriage returns that end no line, and form feeds in a
    // header. Whoever adds them changes what is read, and the signature stays valid.
    let (header, body) = raw.split_at_checked(body_offset).unwrap_or((raw, &[]));
    let is_odd = |byte: &u8| byte.is_ascii_control() && !b"\r\n\t".contains(byte);
    let is_odd = header.iter().any(is_odd) || has_lone_return(header) || has_lone_return(body);
    check(!is_odd, "signature_unfit")
}

fn has_lone_return(bytes: &[u8]) -> bool {
    let is_lone = |pair: &[u8]| matches!(pair, [b'\r', after] if *after != b'\n');
    bytes.ends_with(b"\r") || bytes.windows(2).any(is_lone)
}

/// A mail with some of its signatures.
pub(super) struct Candidates<'m> {
    /// The mail without its body, with the signatures that may count.
    pub(super) message: AuthenticatedMessage<'m>,
    pub(super) body: &'m [u8],
    /// Whether there are more of them than are checked.
    pub(super) has_more: bool,
}

/// The mail with only those of its signatures that may prove `domain`.
pub(super) fn prepare<'m>(
    raw: &'m [u8],
    domain: &str,
    at: Timestamp,
) -> Result<Candidates<'m>, Unfit> {
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
    let has_more = signatures.len() > MOST_SIGNATURES;
    signatures.truncate(MOST_SIGNATURES);
    for field in &mut signatures {
        // Reports and third-party signatures would cause further DNS queries.
        (field.header.r, field.header.atps) = (false, None);
        // Whether it had expired when the mail was received is known by now.
        field.header.x = 0;
    }
    message.dkim_headers = signatures;
    let body_offset = usize::try_from(message.body_offset).unwrap_or(usize::MAX);
    let body = raw.get(body_offset..).unwrap_or_default();
    Ok(Candidates {
        message,
        body,
        has_more,
    })
}

/// Whether a valid signature of `domain`, whichever it is, proves the mail as it is read: a
/// provider says that there is one, and not what it covers.
pub(super) fn any_would_prove(raw: &[u8], domain: &str, at: Timestamp) -> bool {
    let Ok(message) = read(raw) else {
        return false;
    };
    let fits =
        |signature: &Signature| covers(&message, signature) && is_fresh(&message, signature, at);
    let signatures = || message.dkim_headers.iter().map(|field| &field.header);
    let own: Vec<&Signature> = signatures()
        .filter(|signature| is_aligned(&signature.d, domain))
        .collect();
    // One that cannot be read here may be the valid one, and so may one of the kind before
    // DKIM.
    let is_older = |name: &[u8]| name.eq_ignore_ascii_case(b"DomainKey-Signature");
    message.errors.is_empty()
        && !message.headers.iter().any(|(name, _)| is_older(name))
        && signatures().all(has_plain_names)
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
    let signer = signer.to_ascii_lowercase();
    let registered = extract::registrable(domain);
    is_name(&signer) && registered.is_some() && extract::registrable(&signer) == registered
}

/// Whether a text is a name of DNS without escapes, of which `a\.b.test` would be a name
/// below `test` alone.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_plain);
    text.split('.').all(is_label)
}

/// Whether a signature names its signer in plain characters. A provider writes these names
/// into its list of results, where others would look like further results.
fn has_plain_names(signature: &Signature) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"{}:,;\"\\".contains(&byte);
    is_name(&signature.d) && signature.i.bytes().all(is_plain)
}

/// Whether every sender, subject, date and type field of the mail is signed, by an
/// accepted algorithm. RFC 8301 forbids SHA-1.
fn covers(message: &AuthenticatedMessage<'_>, signature: &Signature) -> bool {
    signature.a != Algorithm::RsaSha1
        && is_name(&signature.s)
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
/// was received, and the signature had not expired.
fn is_fresh(message: &AuthenticatedMessage<'_>, signature: &Signature, at: Timestamp) -> bool {
    let stated = seconds(signature.t);
    let Some(signed) = stated.or_else(|| date(message)).map(moment) else {
        return false;
    };
    let has_expired = seconds(signature.x).is_some_and(|expires| {
        moment(expires) <= at || stated.is_some_and(|stated| expires <= stated)
    });
    !has_expired && at.since(signed) <= FRESH && signed.since(at) <= FRESH
}

fn seconds(stated: u64) -> Option<i64> {
    i64::try_from(stated).ok().filter(|seconds| *seconds > 0)
}

fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds.saturating_mul(1_000))
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
