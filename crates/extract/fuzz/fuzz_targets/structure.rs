//! Any structure of multiparts and messages, cut anywhere.
#![no_main]

use extract::{Policy, extract};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|raw: &[u8]| {
    let mut mail = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\n".to_vec();
    mail.extend_from_slice(raw);
    let _ = extract(&mail, &Policy::default());
});
