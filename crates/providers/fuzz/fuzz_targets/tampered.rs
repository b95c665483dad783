//! A post that was signed and then changed anywhere is not proven; unchanged it is.
//! The first two bytes say where, the third how; the rest is the mail's text.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pipeline::Timestamp;
use providers::{Coverage, Post, RawRequest, Sample, Source};

static SOURCE: LazyLock<&'static Source> = LazyLock::new(providers_fuzz::source);

fn is_proven(post: &Post, now: Timestamp) -> bool {
    let lines = post.headers.iter();
    let lines = lines.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let request = RawRequest::new(lines, &post.body);
    let request = request.with_query(post.query.as_deref().unwrap_or_default());
    SOURCE.verify(&request, now).is_ok()
}

fuzz_target!(|input: &[u8]| {
    let [high, low, flip, text @ ..] = input else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let now = Timestamp::from_millis(1_763_164_800_000);
    let Some(mut post) = SOURCE.sample(&Sample {
        id: "sample1",
        at: now,
        from: "a@b.test",
        recipient: "x@y.test",
        subject: "Hi",
        text: &text,
    }) else {
        return;
    };
    assert!(is_proven(&post, now));
    if SOURCE.coverage() != Coverage::Body || *flip == 0 || post.body.is_empty() {
        return;
    }
    let place = (usize::from(*high) << 8 | usize::from(*low)) % post.body.len();
    post.body[place] ^= flip;
    // The body of a form has many spellings, of which its fields alone are signed.
    if providers_fuzz::provider() != "mandrill" {
        assert!(!is_proven(&post, now));
    }
});
