//! Tests of the extractor through its public API.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]

mod address;
mod closing;
mod corpus;
mod cut;
mod expected;
mod hidden;
mod lexicon;
mod mail;
mod mislabelled;
mod planted;
mod property;
mod relatives;
mod second_reading;
mod shape;
mod speed;
mod threshold;
mod twins;
mod unnamed;
mod word_codes;
mod words;

use extract::{Allowlist, Extracted, Policy, extract};

/// Extracts under `example.com` and everything below it.
fn extract_allowed(raw: &[u8]) -> Extracted {
    let links = Allowlist::parse(["example.com", "*.example.com"]).unwrap();
    let policy = Policy {
        links,
        ..Policy::default()
    };
    extract(raw, &policy).unwrap()
}

fn extract_any(raw: &[u8]) -> Extracted {
    extract(raw, &Policy::default()).unwrap()
}

fn code(mail: &Extracted) -> Option<&str> {
    mail.code.found().map(|code| code.value.as_str())
}

fn html_mail(body: &str) -> Vec<u8> {
    format!("From: a@example.com\r\nMessage-ID: <1@example.com>\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{body}").into_bytes()
}

fn text_mail(body: &str) -> Vec<u8> {
    format!("From: a@example.com\r\nMessage-ID: <1@example.com>\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{body}").into_bytes()
}
