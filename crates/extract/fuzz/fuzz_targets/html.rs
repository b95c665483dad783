//! Any HTML: reading ends, and a returned code has the bounds of a code.
#![no_main]

use extract::{Policy, extract};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|html: &str| {
    let mail = format!("From: a@b.example\nContent-Type: text/html; charset=utf-8\n\n{html}");
    if let Ok(mail) = extract(mail.as_bytes(), &Policy::default()) {
        if let Some(code) = mail.code.found() {
            assert!(code.value.len() <= 32 && code.value.is_ascii());
        }
    }
});
