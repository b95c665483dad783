//! Many providers post a mail as one base64 string of a JSON object. LZ4 finds little to
//! shorten in base64, and much in the mail, so the string is decoded before it is packed.
//!
//! A decoded value is two positions, four bytes each in little-endian order, and the bytes.
//! What is between the positions was base64.

use base64_simd::STANDARD;
use memchr::memchr_iter;

/// A shorter string gains little.
const SHORTEST: usize = 512;

/// How many bytes one position takes.
const POSITION: usize = 4;

/// The value with its longest string decoded, if that is base64. `STANDARD` decodes only what
/// it would encode in the same way, so `encode` returns the value byte for byte.
pub(super) fn decode(value: &[u8]) -> Option<Vec<u8>> {
    let (before, string, after) = split_at_longest_string(value)?;
    let start = u32::try_from(before.len()).ok()?;
    let mut decoded = Vec::with_capacity(2 * POSITION + value.len());
    decoded.extend(start.to_le_bytes());
    decoded.extend([0; POSITION]);
    decoded.extend(before);
    STANDARD.decode_append(string, &mut decoded).ok()?;
    let end = u32::try_from(decoded.len() - 2 * POSITION).ok()?;
    let (positions, _) = decoded.split_first_chunk_mut::<{ 2 * POSITION }>()?;
    let (_, position) = positions.split_last_chunk_mut::<POSITION>()?;
    *position = end.to_le_bytes();
    decoded.extend(after);
    Some(decoded)
}

/// The value that was decoded. `None` if these bytes are not a decoded value.
pub(super) fn encode(decoded: &[u8]) -> Option<Vec<u8>> {
    let (start, rest) = position(decoded)?;
    let (end, bytes) = position(rest)?;
    let (before, string) = (bytes.get(..start)?, bytes.get(start..end)?);
    let mut value = Vec::with_capacity(bytes.len() + string.len() / 3 + POSITION);
    value.extend(before);
    STANDARD.encode_append(string, &mut value);
    value.extend(bytes.get(end..)?);
    Some(value)
}

fn position(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (position, rest) = bytes.split_first_chunk::<POSITION>()?;
    let position = usize::try_from(u32::from_le_bytes(*position)).ok()?;
    Some((position, rest))
}

/// What stands before, in and behind the longest string between two quotation marks.
fn split_at_longest_string(value: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let marks = memchr_iter(b'"', value);
    let (from, to) = marks
        .clone()
        .map(|mark| mark + 1)
        .zip(marks.skip(1))
        .max_by_key(|(from, to)| to - from)?;
    let string = value.get(from..to).filter(|it| it.len() >= SHORTEST)?;
    Some((value.get(..from)?, string, value.get(to..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(string: &str) -> Vec<u8> {
        format!(r#"{{"type":"email.received","raw":"{string}","n":1}}"#).into_bytes()
    }

    #[test]
    fn base64_is_decoded_and_encoded_to_the_same_bytes() {
        for length in [SHORTEST, 1_000, 1_001, 1_002, 60_000] {
            let mail = b"Type the digits. ".repeat(length);
            let mail = mail.get(..length).unwrap();
            let value = post(&STANDARD.encode_to_string(mail));
            let decoded = decode(&value).unwrap();
            assert!(decoded.windows(length).any(|part| part == mail));
            assert_eq!(encode(&decoded), Some(value), "{length}");
        }
    }

    #[test]
    fn strings_that_another_encoder_made_are_left_as_they_are() {
        let base64 = STANDARD.encode_to_string(b"Type the digits: 493817. ".repeat(41));
        let end = base64.trim_end_matches('=').len();
        let unpadded = base64.get(..end).unwrap();
        assert_ne!(unpadded, base64);
        let last = base64.get(end - 1..end).unwrap();
        let bits = base64.replace(&format!("{last}="), "B=");
        let others = [
            unpadded.to_owned(),
            bits,
            base64.replace('V', "_"),
            base64.replace('V', "\\/"),
            base64.replace('V', "V\r\n"),
            "Type the digits. ".repeat(100),
        ];
        for other in others {
            assert_eq!(decode(&post(&other)), None, "{other}");
        }
    }

    #[test]
    fn values_without_a_long_string_are_left_as_they_are() {
        let long = "a".repeat(4 * SHORTEST);
        let values = ["", "\"", "\"\"", &long, &format!("\"{long}")];
        for value in values {
            assert_eq!(decode(value.as_bytes()), None, "{value}");
        }
        assert_eq!(decode(&post(&"a".repeat(SHORTEST - 4))), None);
    }

    #[test]
    fn other_bytes_are_not_encoded() {
        let decoded = decode(&post(&STANDARD.encode_to_string([b'a'; 1_000]))).unwrap();
        let length = u32::try_from(decoded.len() - 2 * POSITION).unwrap();
        assert_eq!(encode(&[]), None);
        assert_eq!(encode(&decoded[..2 * POSITION - 1]), None);
        for (start, end) in [
            (2, 1),
            (0, length + 1),
            (length + 1, length + 2),
            (u32::MAX, 0),
        ] {
            let mut other = decoded.clone();
            other[..POSITION].copy_from_slice(&start.to_le_bytes());
            other[POSITION..2 * POSITION].copy_from_slice(&end.to_le_bytes());
            assert_eq!(encode(&other), None, "{start} {end}");
        }
    }
}
