//! Reads one labelled mail and compares the answers with its labels.

use extract::{ExpectedCode, Extracted, Policy, extract, folded};
use serde_json::Value;

/// An answer beside its label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdict {
    /// The mail has such an artifact.
    pub(crate) is_expected: bool,
    /// Whether the answer was right, if there was one.
    pub(crate) answer: Option<bool>,
    /// The stated confidence in percent; 0 without an answer.
    pub(crate) confidence: u8,
}

impl Verdict {
    pub(crate) fn is_missed(self) -> bool {
        self.is_expected && self.answer.is_none()
    }
}

/// What a mail is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Code,
    Link,
    Neither,
}

/// What the extractor said about one mail.
pub(crate) struct Judged {
    pub(crate) origin: String,
    pub(crate) language: String,
    pub(crate) class: Class,
    pub(crate) code: Verdict,
    /// The code, if the caller says which form of code it waits for.
    pub(crate) known_form: Verdict,
    /// `None`: the links of this mail have no label.
    pub(crate) link: Option<Verdict>,
    pub(crate) is_link_forbidden: bool,
}

impl Judged {
    pub(crate) fn new(case: &Value) -> Self {
        let mail = answer(case, &Policy::default());
        let known_form = Policy {
            expected: Some(form(accepted(case).first())),
            ..Policy::default()
        };
        let link = mail.as_ref().and_then(|mail| mail.link.found());
        let is_listed = |field: &str, url: &str| list(case, field).any(|one| is_same_url(one, url));
        let has_link = list(case, "expected_links").next().is_some();
        let link_verdict = Verdict {
            is_expected: has_link,
            answer: link.map(|link| is_listed("expected_links", &link.url)),
            confidence: link.map_or(0, |link| link.confidence),
        };
        let has_labels = case.get("expected_links").is_some_and(Value::is_array);
        let code_verdict = code(case, mail.as_ref());
        Self {
            origin: text(case, "origin"),
            language: text(case, "lang"),
            class: match (code_verdict.is_expected, has_link) {
                (true, _) => Class::Code,
                (false, true) => Class::Link,
                (false, false) => Class::Neither,
            },
            code: code_verdict,
            known_form: code(case, answer(case, &known_form).as_ref()),
            link: has_labels.then_some(link_verdict),
            is_link_forbidden: link.is_some_and(|link| is_listed("forbidden_links", &link.url)),
        }
    }
}

fn answer(case: &Value, policy: &Policy) -> Option<Extracted> {
    extract(text(case, "raw").as_bytes(), policy).ok()
}

fn code(case: &Value, mail: Option<&Extracted>) -> Verdict {
    let found = mail.and_then(|mail| mail.code.found());
    let accepted = accepted(case);
    Verdict {
        is_expected: case.get("expected_otp").is_some_and(Value::is_string),
        answer: found.map(|code| accepted.contains(&compact(&code.value))),
        confidence: found.map_or(0, |code| code.confidence),
    }
}

/// The right spellings of the code.
fn accepted(case: &Value) -> Vec<String> {
    let expected = case.get("expected_otp").and_then(Value::as_str);
    let accepted = expected.into_iter().chain(list(case, "accept"));
    accepted.map(compact).collect()
}

fn text(case: &Value, field: &str) -> String {
    let value = case.get(field).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

fn list<'c>(case: &'c Value, field: &str) -> impl Iterator<Item = &'c str> {
    let values = case.get(field).and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str)
}

/// What counts of a code. `compact` in `tests/accuracy/peers.py` does the same.
fn compact(code: &str) -> String {
    let kept = folded(code);
    kept.chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

/// What a caller would say about the code of this mail. A mail without one is met by callers
/// that wait for six digits.
fn form(code: Option<&String>) -> ExpectedCode {
    let Some(code) = code else {
        return ExpectedCode::Digits(6);
    };
    let length = u8::try_from(code.chars().count()).unwrap_or(u8::MAX);
    if code.chars().all(|c| c.is_ascii_digit()) {
        ExpectedCode::Digits(length)
    } else if code.chars().all(char::is_alphabetic) {
        ExpectedCode::Letters(length)
    } else {
        ExpectedCode::Characters(length)
    }
}

fn is_same_url(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}
