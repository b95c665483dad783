//! One labelled line, and the mail that it describes.

use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use serde::Deserialize;

/// A labelled message or URL. Fields that a line does not have are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::command) struct Case {
    pub(super) id: String,
    pub(super) origin: String,
    pub(super) channel: String,
    pub(super) lang: String,
    subject: Option<String>,
    text: Option<String>,
    html: Option<String>,
    /// The whole mail.
    raw: Option<String>,
    /// The whole mail, if it is not UTF-8.
    raw_base64: Option<String>,
    eml_path: Option<String>,
    pub(in crate::command) expected_otp: Option<String>,
    accept: Vec<String>,
    pub(super) expected_links: Option<Vec<String>>,
    pub(super) forbidden_links: Vec<String>,
    pub(super) allowlist: Vec<String>,
    pub(super) disputed: Option<serde_json::Value>,
    pub(super) url: Option<String>,
    pub(super) cls: String,
    pub(super) must_reject: bool,
    pub(super) reason: Option<String>,
    pub(super) unwrapped: Option<String>,
}

impl Case {
    pub(in crate::command) fn parse(line: &str) -> Result<Self> {
        serde_json::from_str(line).context("failed to read the case")
    }

    /// Whether a code is an expected one, ignoring case, punctuation and the script of
    /// its digits.
    pub(super) fn accepts(&self, code: &str) -> bool {
        let compact = |code: &str| -> String {
            extract::folded(code)
                .chars()
                .filter(|c| c.is_alphanumeric())
                .map(|c| c.to_ascii_lowercase())
                .collect()
        };
        self.expected_otp
            .iter()
            .chain(&self.accept)
            .any(|expected| compact(expected) == compact(code))
    }

    /// The raw mail: as given, from its file, or built from the text.
    pub(in crate::command) fn mail(&self, folder: &Path) -> Result<Vec<u8>> {
        if let Some(raw) = &self.raw {
            return Ok(raw.clone().into_bytes());
        }
        if let Some(raw) = &self.raw_base64 {
            let decoded = base64::engine::general_purpose::STANDARD.decode(raw);
            return decoded.context("failed to decode the mail");
        }
        if let Some(path) = &self.eml_path {
            let path = folder.join(path);
            return std::fs::read(&path)
                .with_context(|| format!("failed to read {}", path.display()));
        }
        let mut raw = String::from(
            "From: Sender <no-reply@sender.example>\r\nTo: inbox@inbox.example\r\nMIME-Version: 1.0\r\n",
        );
        if let Some(subject) = &self.subject {
            let subject = encoded(subject).concat();
            raw.extend(["Subject: =?utf-8?b?", &subject, "?=\r\n"]);
        }
        let (kind, body) = match (&self.html, &self.text) {
            (Some(html), _) => ("html", html.as_str()),
            (None, text) => ("plain", text.as_deref().unwrap_or_default()),
        };
        let body = encoded(body).join("\r\n");
        raw.extend(["Content-Type: text/", kind, "; charset=utf-8\r\n"]);
        raw.extend(["Content-Transfer-Encoding: base64\r\n\r\n", &body, "\r\n"]);
        Ok(raw.into_bytes())
    }
}

fn encoded(text: &str) -> Vec<String> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    encoded
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_compared_without_case_and_punctuation() {
        let case = Case::parse(r#"{"id":"a","expected_otp":"AB-12","accept":["G-77"]}"#).unwrap();
        assert!(case.accepts("ab12") && case.accepts("g77") && !case.accepts("ab13"));
        let native = Case::parse(r#"{"id":"a","expected_otp":"٤٨٢١١٧"}"#).unwrap();
        assert!(native.accepts("482117"));
    }

    #[test]
    fn a_text_becomes_a_mail_with_its_subject() {
        let case = Case::parse(
            r#"{"id":"a","subject":"Dein Code","text":"Ihr Bestätigungscode ist 482913"}"#,
        )
        .unwrap();
        let raw = case.mail(Path::new(".")).unwrap();
        let mail = extract::extract(&raw, &extract::Policy::default()).unwrap();
        assert_eq!(
            mail.code.found().map(|code| code.value.as_str()),
            Some("482913")
        );
    }
}
