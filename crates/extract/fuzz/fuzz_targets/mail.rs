//! Any bytes: the same answer twice, and no link outside the allowlist.
#![no_main]

use extract::{Allowlist, Policy, extract};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|raw: &[u8]| {
    let links = Allowlist::parse(["example.com", "*.example.com"]).expect("two good entries");
    let policy = Policy { links };
    match (extract(raw, &policy), extract(raw, &policy)) {
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
