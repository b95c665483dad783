//! Which mail this is, however it came.

use sha2::{Digest, Sha256};

use crate::header::Headers;

const MAX_MESSAGE_ID: usize = 998;

/// What makes two deliveries the same mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The Message-ID without its brackets, if the mail has exactly one that
    /// is well formed. The sender chooses it, so it proves nothing alone.
    pub message_id: Option<String>,
    /// SHA-256 over what a reader sees: sender, subject, date, text and HTML.
    /// Transport headers are left out, so two paths give one digest.
    pub content: [u8; 32],
}

/// The one Message-ID, or none.
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

/// Digests the fields, each with its length so that no two lists collide.
/// Line ends and trailing blanks are what relays change; they do not count.
pub(crate) fn content_digest(fields: [&str; 5]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for field in fields {
        let mut inner = Sha256::new();
        for line in field.trim_end().lines() {
            inner.update(line.trim_end());
            inner.update(b"\n");
        }
        digest.update(inner.finalize());
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(raw: &str) -> Option<String> {
        message_id(&Headers::read(raw.as_bytes(), b'\n').unwrap().0)
    }

    #[test]
    fn one_message_id_is_taken_without_its_brackets() {
        assert_eq!(
            id("Message-ID: <A.1@Mail.Test>\n\n").as_deref(),
            Some("A.1@mail.test")
        );
    }

    #[test]
    fn two_fields_two_values_or_a_huge_one_are_none() {
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
    fn the_digest_ignores_line_ends_and_nothing_else() {
        let one = content_digest(["a", "b", "c", "x\r\ny  \r\n", ""]);
        assert_eq!(one, content_digest(["a", "b", "c", "x\ny", ""]));
        assert_ne!(one, content_digest(["a", "b", "c", "x\nz", ""]));
        assert_ne!(one, content_digest(["a", "b", "cx\ny", "", ""]));
    }
}
