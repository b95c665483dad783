//! Any post: it is not proven, since the fuzzer has no key, and nothing panics.
//! Lines up to an empty one are headers, what follows is the body.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pipeline::Timestamp;
use providers::{Certificate, RawRequest, Source};

static SOURCE: LazyLock<&'static Source> = LazyLock::new(providers_fuzz::source);

/// A certificate whose key is gone.
static CERTIFICATE: LazyLock<Certificate> = LazyLock::new(|| {
    Certificate::from_pem(include_bytes!("../certificate.pem")).expect("a certificate")
});

fuzz_target!(|post: &[u8]| {
    let mut headers = Vec::new();
    let mut rest = post;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            break;
        };
        if let Ok(name) = std::str::from_utf8(&line[..colon]) {
            headers.push((name, &line[colon + 1..]));
        }
    }
    let request = RawRequest::new(headers, rest).with_certificate(Some(&CERTIFICATE));
    let now = Timestamp::from_millis(1_763_164_800_000);
    let _ = SOURCE.certificate_url(&request);
    assert!(SOURCE.verify(&request, now).is_err());
});
