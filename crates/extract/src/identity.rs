//! The identity of a mail, whichever way it arrived.

use ring::digest::{Context, SHA256};

use crate::header::Headers;
use crate::lines;
use crate::steps::Steps;

const MAX_MESSAGE_ID: usize = 998;
/// Steps charged for a line, besides its bytes.
const PER_LINE: usize = 20;

/// Two deliveries with the same identity are the same mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The Message-ID without its brackets, if the mail has exactly one that is well
    /// formed. The sender chooses it, so it proves nothing by itself.
    pub message_id: Option<String>,
    /// SHA-256 over sender, subject, date, text and HTML. Transport headers are left
    /// out, so the digest is the same on every path.
    pub content: [u8; 32],
}

/// The Message-ID, if there is exactly one.
pub(crate) fn message_id(headers: &Headers<'_>) -> Option<String> {
    let value = headers.single("Message-ID")?.trim_ascii();
    let inner = value.strip_prefix(b"<")?.strip_suffix(b">")?;
    let plain = inner
        .iter()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'));
    let fits = plain && !inner.is_empty() && inner.len() <= MAX_MESSAGE_ID;
    let text = std::str::from_utf8(inner).ok().filter(|_| fits)?;
    Some(match text.rsplit_once('@') {
        Some((local, domain)) => format!("{local}@{}", domain.to_ascii_lowercase()),
        None => text.to_owned(),
    })
}

/// Digests each field by itself, so that different fields never give the same
/// digest. Line ends and trailing spaces are left out, because relays change them.
pub(crate) fn content_digest(fields: [&str; 5], steps: &Steps<'_>) -> [u8; 32] {
    let mut digest = Context::new(&SHA256);
    for field in fields {
        let mut inner = Context::new(&SHA256);
        for line in lines::without_ends(field.trim_end()) {
            if !steps.charge(PER_LINE + 3 * line.len()) {
                break;
            }
            inner.update(line.trim_end().as_bytes());
            inner.update(b"\n");
        }
        digest.update(inner.finish().as_ref());
    }
    let mut bytes = [0; 32];
    for (to, from) in bytes.iter_mut().zip(digest.finish().as_ref()) {
        *to = *from;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content_digest(fields: [&str; 5]) -> [u8; 32] {
        super::content_digest(fields, &Steps::for_size(0))
    }

    fn id(raw: &str) -> Option<String> {
        message_id(&Headers::read(raw.as_bytes(), b'\n').unwrap().0)
    }

    #[test]
    fn single_message_id_is_taken_without_brackets() {
        assert_eq!(
            id("Message-ID: <A.1@Mail.Test>\n\n").as_deref(),
            Some("A.1@mail.test")
        );
    }

    #[test]
    fn repeated_or_malformed_message_id_is_none() {
        assert_eq!(id("Message-ID: <a@b>\nMessage-ID: <a@b>\n\n"), None);
        assert_eq!(id("Message-ID: <a@b> <c@d>\n\n"), None);
        assert_eq!(
            id(&format!("Message-ID: <{}@b>\n\n", "a".repeat(100_000))),
            None
        );
        assert_eq!(id(&format!("Message-ID: <{}>\n\n", "a".repeat(999))), None);
        assert_eq!(id("Message-ID: a@b\n\n"), None);
        assert_eq!(id("Subject: none\n\n"), None);
    }

    #[test]
    fn digest_ignores_only_line_ends_and_trailing_spaces() {
        let one = content_digest(["a", "b", "c", "x\r\ny  \r\n", ""]);
        assert_eq!(one, content_digest(["a", "b", "c", "x\ny", ""]));
        assert_ne!(one, content_digest(["a", "b", "c", "x\nz", ""]));
        assert_ne!(one, content_digest(["a", "b", "cx\ny", "", ""]));
    }
}
