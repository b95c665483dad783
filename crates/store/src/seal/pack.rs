//! Packing: most bodies are text, which LZ4 makes a third or half as long. The database then
//! writes, logs, copies and reads less, which saves more time than packing takes.
//!
//! A packed value is its length, four bytes in little-endian order, and one LZ4 block.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// A shorter value gains little.
const SHORTEST: usize = 256;

/// A longer value is not packed: how many large bodies are held at once is decided by
/// their size in the database (`claims/large.rs`), which must not be much less than in
/// memory.
const LONGEST: usize = 256 * 1024;

/// How many bytes the length takes.
const LENGTH: usize = 4;

/// Whether a value of this length is packed.
pub(super) fn fits(value: &[u8]) -> bool {
    (SHORTEST..=LONGEST).contains(&value.len())
}

/// The packed value, unless that takes `most` bytes or more.
pub(super) fn pack(value: &[u8], most: usize) -> Option<Vec<u8>> {
    if !fits(value) {
        return None;
    }
    let length = u32::try_from(value.len()).ok()?;
    let mut packed = vec![0; LENGTH + get_maximum_output_size(value.len())];
    let (head, block) = packed.split_first_chunk_mut::<LENGTH>()?;
    *head = length.to_le_bytes();
    let written = compress_into(value, block).ok()?;
    packed.truncate(LENGTH + written);
    (packed.len() < most).then_some(packed)
}

/// The value that was packed. `None` if these bytes are not a packed value.
pub(super) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (length, block) = packed.split_first_chunk::<LENGTH>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if length > LONGEST {
        return None;
    }
    let mut value = vec![0; length];
    let written = decompress_into(block, &mut value).ok()?;
    (written == length).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_packed_and_unpacked() {
        for length in [SHORTEST, 1_000, 8_192, 65_535, 65_536, LONGEST] {
            let text = b"Type the digits. "
                .repeat(length)
                .get(..length)
                .unwrap()
                .to_vec();
            let packed = pack(&text, text.len()).unwrap();
            assert!(packed.len() < length, "{length}");
            assert_eq!(unpack(&packed), Some(text));
        }
    }

    #[test]
    fn short_long_and_random_values_are_not_packed() {
        assert_eq!(pack(&[b'a'; SHORTEST - 1], SHORTEST), None);
        assert_eq!(pack(&vec![b'a'; LONGEST + 1], LONGEST), None);
        let random: Vec<u8> = (0..8_192).map(|_| rand::random()).collect();
        assert_eq!(pack(&random, random.len()), None);
    }

    #[test]
    fn other_bytes_are_not_unpacked() {
        let packed = pack(&[b'a'; 1_000], 1_000).unwrap();
        assert_eq!(unpack(&[]), None);
        assert_eq!(unpack(&packed[..packed.len() - 1]), None);
        for length in [0, 999, 1_001, u32::MAX] {
            let mut other = packed.clone();
            other[..LENGTH].copy_from_slice(&length.to_le_bytes());
            assert_eq!(unpack(&other), None, "{length}");
        }
    }
}
