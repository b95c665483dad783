//! The record that publishes a public key, RFC 6376, section 3.6.1.

use mail_auth::common::parse::TxtRecordParser;
use mail_auth::common::verify::DomainKey;
use mail_auth::dkim::DkimError;
use mail_auth::{DnsError, Error};

/// RFC 8301 forbids shorter keys, and no library checks longer ones.
const RSA_BITS: std::ops::RangeInclusive<usize> = 1_024..=8_192;
/// What the library says of a key of another kind, which has one length.
const NOT_RSA: usize = usize::MAX;

/// Why there is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The name has none.
    Missing,
    /// It has one that must not be used.
    Unfit,
    /// The record cannot be read.
    Unreadable,
    /// No DNS server answered.
    Unavailable,
}

/// Reads a record. A key that is a test, that is not for mail or for SHA-256, or that is
/// too short must not be used.
pub(super) fn read(record: &[u8]) -> Result<DomainKey, NoKey> {
    let key = DomainKey::parse(record).map_err(|error| why(&error))?;
    let bits = key.p.public_key_bits();
    let is_fit = !lists(record, "t", &["y"])
        && (!has(record, "s") || lists(record, "s", &["*", "email"]))
        && (!has(record, "h") || lists(record, "h", &["sha256"]))
        && (bits == NOT_RSA || RSA_BITS.contains(&bits));
    if is_fit { Ok(key) } else { Err(NoKey::Unfit) }
}

fn why(error: &Error) -> NoKey {
    match error {
        Error::Dkim(DkimError::RevokedPublicKey) => NoKey::Unfit,
        // Another kind of record, such as a policy.
        Error::Dns(DnsError::InvalidRecordType) => NoKey::Missing,
        _ => NoKey::Unreadable,
    }
}

fn has(record: &[u8], tag: &str) -> bool {
    values(record, tag).next().is_some()
}

/// Whether a list has one of these words.
fn lists(record: &[u8], tag: &str, words: &[&str]) -> bool {
    let is_one = |listed: &[u8]| {
        let mut words = words.iter();
        words.any(|word| listed.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    values(record, tag).any(|value| value.split(|byte| *byte == b':').any(is_one))
}

fn values<'r>(record: &'r [u8], tag: &str) -> impl Iterator<Item = &'r [u8]> {
    record.split(|byte| *byte == b';').filter_map(move |pair| {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = pair.split_at_checked(equals)?;
        let is_named = name.trim_ascii().eq_ignore_ascii_case(tag.as_bytes());
        is_named.then(|| value.get(1..).unwrap_or_default())
    })
}
