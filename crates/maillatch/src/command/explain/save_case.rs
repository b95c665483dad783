//! Turns a mail into a labelled case for `maillatch eval`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// What the mail should have given.
pub(super) struct Expected<'a> {
    pub(super) code: Option<&'a str>,
    pub(super) link: Option<&'a str>,
}

/// Appends the case to a file. The file holds whole mails, so only its owner may read it.
pub(super) fn save(file: &Path, raw: &[u8], expected: &Expected<'_>) -> Result<()> {
    let digest = pipeline::ContentDigest::of(&[raw]);
    let id: String = super::as_json::hex(digest.as_bytes())
        .chars()
        .take(16)
        .collect();
    let mut case = json!({
        "id": format!("own-{id}"),
        "origin": "own mail",
        "channel": "email",
        "lang": "und",
        "expected_otp": expected.code,
        "expected_links": expected.link.iter().collect::<Vec<_>>(),
    });
    let (field, text) = match std::str::from_utf8(raw) {
        Ok(text) => ("raw", text.to_owned()),
        Err(_) => ("raw_base64", STANDARD.encode(raw)),
    };
    if let Some(fields) = case.as_object_mut() {
        fields.insert(field.to_owned(), text.into());
    }
    let known = std::fs::read_to_string(file).unwrap_or_default();
    let is_known = known
        .lines()
        .any(|line| line.contains(&format!("\"own-{id}\"")));
    ensure!(!is_known, "{} has this mail already", file.display());
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(file);
    let mut opened = opened.with_context(|| format!("failed to open {}", file.display()))?;
    writeln!(opened, "{case}").with_context(|| format!("failed to write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::eval::Case;

    #[test]
    fn saved_mail_is_read_back_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cases.jsonl");
        let expected = Expected {
            code: Some("493817"),
            link: None,
        };
        let mails: [&[u8]; 2] = [
            b"Subject: a\r\n\r\n493817",
            b"Subject: b\r\n\r\n\xe9 493817",
        ];
        for mail in mails {
            save(&file, mail, &expected).unwrap();
        }
        let saved = std::fs::read_to_string(&file).unwrap();
        for (line, mail) in saved.lines().zip(mails) {
            let case = Case::parse(line).unwrap();
            assert_eq!(case.mail(folder.path()).unwrap(), mail);
            assert_eq!(case.expected_otp.as_deref(), Some("493817"));
        }
    }

    #[test]
    fn mail_that_is_saved_twice_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cases.jsonl");
        let expected = Expected {
            code: None,
            link: None,
        };
        save(&file, b"a", &expected).unwrap();
        let again = save(&file, b"a", &expected).unwrap_err();
        assert!(again.to_string().contains("already"), "{again}");
    }
}
