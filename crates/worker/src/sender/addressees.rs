//! Whom a signed mail was written to.
//!
//! Anybody who has a signed mail can send it to any inbox, and the signature stays
//! valid. So a proof counts only for the addresses in `To` and `Cc`, and only if these
//! fields are signed.

use std::collections::BTreeSet;

use mail_auth::AuthenticatedMessage;
use mail_auth::dkim::Signature;
use pipeline::InboxId;

use super::coverage::{is_aligned, read, refuse_ambiguous, signs_all};

const FIELDS: [&str; 2] = ["to", "cc"];
/// No mail to one of our inboxes names so many people.
const MOST_ADDRESSEES: usize = 1_000;

/// The addresses in the fields that a signature covers.
pub(super) fn signed(
    message: &AuthenticatedMessage<'_>,
    signature: &Signature,
) -> BTreeSet<InboxId> {
    let is_signed = |name: &str| signs_all(message, signature, name);
    in_fields(message, is_signed)
}

/// The addresses in a mail that a provider has checked. Its verdict does not say what
/// was signed, so every signature of the sender's domain must cover a field that counts.
pub(super) fn named(raw: &[u8], domain: &str) -> BTreeSet<InboxId> {
    let Ok(message) = read(raw) else {
        return BTreeSet::new();
    };
    if refuse_ambiguous(raw, &message).is_err() {
        return BTreeSet::new();
    }
    let is_signed = |name: &str| {
        let mut signatures = message.dkim_headers.iter().map(|field| &field.header);
        signatures.all(|one| !is_aligned(&one.d, domain) || signs_all(&message, one, name))
    };
    in_fields(&message, is_signed)
}

fn in_fields(
    message: &AuthenticatedMessage<'_>,
    counts: impl Fn(&str) -> bool,
) -> BTreeSet<InboxId> {
    let counted: Vec<&str> = FIELDS.into_iter().filter(|name| counts(name)).collect();
    let is_counted = |field: &[u8]| {
        let mut names = counted.iter();
        names.any(|name| field.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    };
    let fields = message.headers.iter().filter(|(name, _)| is_counted(name));
    fields
        .flat_map(|(_, value)| extract::mailboxes(value))
        .take(MOST_ADDRESSEES)
        .filter_map(|address| address.parse().ok())
        .collect()
}
