//! One way to hash several fields: each behind its length, so that no two
//! different lists of fields ever give the same bytes to the hash.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// SHA-256 over length-prefixed fields.
pub(crate) fn plain(fields: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().into()
}

/// HMAC-SHA-256 over length-prefixed fields.
pub(crate) fn keyed(key: &[u8; 32], fields: &[&[u8]]) -> [u8; 32] {
    // HMAC pads a short key with zeros to its block size; handing it the padded
    // block leaves no failure to handle.
    let mut block = [0; 64];
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let mut mac = Hmac::<Sha256>::new(&block.into());
    for field in fields {
        mac.update(&(field.len() as u64).to_be_bytes());
        mac.update(field);
    }
    mac.finalize().into_bytes().into()
}

/// The first half of a digest: 128 bits are enough to tell rows apart, and a
/// 16-byte index key is half the size of a 32-byte one.
pub(crate) fn half(digest: [u8; 32]) -> [u8; 16] {
    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(digest) {
        *to = from;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_a_byte_between_fields_changes_the_digest() {
        assert_ne!(plain(&[b"ab", b"c"]), plain(&[b"a", b"bc"]));
        assert_ne!(
            keyed(&[7; 32], &[b"ab", b"c"]),
            keyed(&[7; 32], &[b"a", b"bc"])
        );
    }
}
