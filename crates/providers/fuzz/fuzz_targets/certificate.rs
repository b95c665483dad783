//! Any file that is said to be a certificate: no panic, the same answer twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use providers::Certificate;

fuzz_target!(|pem: &[u8]| {
    assert_eq!(Certificate::from_pem(pem), Certificate::from_pem(pem));
});
