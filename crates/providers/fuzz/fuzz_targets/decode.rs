//! Any recorded body: no panic, the same answer twice, and mail only for somebody.
//! The first line is the content type.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use providers::{Decoded, Source};

static SOURCE: LazyLock<&'static Source> = LazyLock::new(providers_fuzz::source);

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let kind = String::from_utf8_lossy(&input[..end]);
    let body = &input[(end + 1).min(input.len())..];
    let decoded = SOURCE.decode(&kind, body);
    assert_eq!(decoded, SOURCE.decode(&kind, body));
    match decoded {
        Ok(Decoded::Mails(mails)) => {
            assert!(!mails.is_empty());
            assert!(mails.iter().all(|mail| !mail.recipients.is_empty()));
        }
        Ok(Decoded::RemoteMail(place)) => assert!(!place.path.is_empty()),
        _ => {}
    }
});
