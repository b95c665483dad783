//! Any bytes: two reads give the same answer, and no link outside the allowlist.
#![no_main]

use std::sync::LazyLock;

use extract::{Allowlist, Policy, extract};
use libfuzzer_sys::fuzz_target;

static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy {
    links: Allowlist::parse(["example.com", "*.example.com"]).expect("two good entries"),
    ..Policy::default()
});

fuzz_target!(|raw: &[u8]| {
    match (extract(raw, &POLICY), extract(raw, &POLICY)) {
        (Ok(one), Ok(other)) => {
            assert_eq!(one.code, other.code);
            assert_eq!(one.link, other.link);
            if let Some(link) = one.link.found() {
                assert!(link.host == "example.com" || link.host.ends_with(".example.com"));
            }
        }
        (one, other) => assert_eq!(one.err(), other.err()),
    }
});
