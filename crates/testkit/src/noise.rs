//! Text that cannot be packed, so that it takes as many bytes in a database as it has.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Letters and digits without a pattern; the same seed gives the same ones.
pub fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_add(1);
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        // A linear congruential generator; its high bits are the good ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        bytes.extend((state >> 32).to_be_bytes().into_iter().skip(4));
    }
    let mut text = URL_SAFE_NO_PAD.encode(bytes);
    text.truncate(length);
    text
}
