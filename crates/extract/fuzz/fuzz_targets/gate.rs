//! Any URL: one that passes is https, has an allowed host name, and passes again
//! unchanged.
#![no_main]

use std::sync::LazyLock;

use extract::{Allowlist, judge};
use libfuzzer_sys::fuzz_target;

static LISTED: LazyLock<Allowlist> = LazyLock::new(|| {
    Allowlist::parse(["example.com", "*.example.com"]).expect("two good entries")
});

fuzz_target!(|url: &str| {
    let any = Allowlist::any();
    if let Ok(destination) = judge(url, &any) {
        assert!(destination.url.starts_with("https://"));
        let again = judge(&destination.url, &any).expect("what passed once passes again");
        assert_eq!(again.url, destination.url);
    }
    if let Ok(destination) = judge(url, &LISTED) {
        let host = destination.host.as_str();
        assert!(host == "example.com" || host.ends_with(".example.com"));
    }
});
