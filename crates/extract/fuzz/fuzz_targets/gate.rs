//! Any URL: what passes is https, named, and passes again unchanged.
#![no_main]

use extract::{Allowlist, judge};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|url: &str| {
    let any = Allowlist::any();
    if let Ok(destination) = judge(url, &any) {
        assert!(destination.url.starts_with("https://"));
        let again = judge(&destination.url, &any).expect("what passed once passes again");
        assert_eq!(again.url, destination.url);
    }
});
