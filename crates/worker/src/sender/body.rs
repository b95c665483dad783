//! The hash of a body, in bounded time.

use std::time::Instant;

use mail_auth::common::crypto::{HashContext, HashImpl, Sha256};
use mail_auth::dkim::Canonicalization;
use mail_auth::dkim::canonicalize::BodyHasher;

/// How many bytes are hashed between two looks at the clock.
const CHUNK: usize = 64 * 1024;

/// The time was over before the work was done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Late;

/// The SHA-256 hash of a whole body, as DKIM hashes it.
pub(super) fn hash(
    body: &[u8],
    canonicalization: Canonicalization,
    deadline: Instant,
) -> Result<Vec<u8>, Late> {
    hash_chunks(body.chunks(CHUNK), canonicalization, deadline)
}

fn hash_chunks<'b>(
    chunks: impl Iterator<Item = &'b [u8]>,
    canonicalization: Canonicalization,
    deadline: Instant,
) -> Result<Vec<u8>, Late> {
    let mut hasher = BodyHasher::new(Sha256::hasher(), canonicalization, 0);
    for chunk in chunks {
        if Instant::now() >= deadline {
            return Err(Late);
        }
        hasher.write(chunk);
    }
    let (hasher, _) = hasher.finish();
    Ok(hasher.complete().as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mail_auth::common::crypto::HashAlgorithm;

    use super::*;

    const BOTH: [Canonicalization; 2] = [Canonicalization::Simple, Canonicalization::Relaxed];

    fn later() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[test]
    fn hash_does_not_depend_on_the_chunks() {
        let pieces = ["a", " ", "\t", "\r\n", "b c", "\r\n\r\n", "  \r\n"];
        for seed in 0..3_000_usize {
            let mut rest = seed;
            let mut body = String::new();
            while rest > 0 {
                body.push_str(pieces[rest % pieces.len()]);
                rest /= pieces.len();
            }
            for canonicalization in BOTH {
                let whole = canonicalization.canonical_body(body.as_bytes(), 0);
                let whole = HashAlgorithm::Sha256.hash(whole);
                for size in 1..4 {
                    let chunks = body.as_bytes().chunks(size);
                    let found = hash_chunks(chunks, canonicalization, later());
                    assert_eq!(found.as_deref(), Ok(whole.as_ref()), "{body:?}");
                }
            }
        }
    }

    #[test]
    fn body_that_is_hashed_beyond_its_time_is_late() {
        let body = vec![b'a'; 10 << 20];
        for canonicalization in BOTH {
            let late = hash(&body, canonicalization, Instant::now());
            assert_eq!(late, Err(Late));
        }
    }
}
