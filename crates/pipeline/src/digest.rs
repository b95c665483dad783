//! Hashes several fields. Each is prefixed with its length, so two different lists of
//! fields never give the hash the same bytes.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// A longer field of content is replaced by its BLAKE3 digest. Without instructions for
/// SHA-256, which many processors lack, SHA-256 of a mail takes ten times as long, and each
/// post is also hashed for its signature.
const LONG: usize = 1024;

/// SHA-256 over length-prefixed fields.
pub(crate) fn plain(fields: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().into()
}

/// The same for content, which may be long.
pub(crate) fn of_content(fields: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for field in fields {
        // The length says which of the two follows.
        hash.update((field.len() as u64).to_be_bytes());
        if field.len() > LONG {
            hash.update(blake3::hash(field).as_bytes());
        } else {
            hash.update(field);
        }
    }
    hash.finalize().into()
}

/// HMAC-SHA-256 over length-prefixed fields.
pub(crate) fn keyed(key: &[u8; 32], fields: &[&[u8]]) -> [u8; 32] {
    // HMAC pads a short key with zeros to its block size. Passing the padded block
    // uses the constructor that cannot fail.
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

/// The first half of a digest. 128 bits are enough to identify rows, and the index is
/// half the size.
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
    fn short_content_has_the_sha_256_digest_that_older_rows_have() {
        let short: &[u8] = &[b'a'; LONG];
        assert_eq!(of_content(&[short, b"b"]), plain(&[short, b"b"]));
    }

    #[test]
    fn changing_a_byte_or_the_length_of_a_long_field_changes_the_digest() {
        let long = [b'a'; 8 * LONG];
        let digest = of_content(&[&long]);
        for at in [0, LONG, 8 * LONG - 1] {
            let mut other = long;
            other[at] ^= 1;
            assert_ne!(of_content(&[&other]), digest, "{at}");
        }
        assert_ne!(of_content(&[&long[1..]]), digest);
        assert_ne!(of_content(&[blake3::hash(&long).as_bytes()]), digest);
    }

    #[test]
    fn moving_a_byte_between_fields_changes_the_digest() {
        assert_ne!(plain(&[b"ab", b"c"]), plain(&[b"a", b"bc"]));
        assert_ne!(
            keyed(&[7; 32], &[b"ab", b"c"]),
            keyed(&[7; 32], &[b"a", b"bc"])
        );
    }
}
