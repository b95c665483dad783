//! What a term means, as the build script stored it.

use super::Sense;

/// Eight bytes of senses, the lowest first; whether more letters may follow; and the
/// language, filled up with blanks.
pub(super) type Meaning = [u8; 12];

pub(super) fn sense(meaning: &Meaning) -> Sense {
    let bits = meaning.first_chunk().copied().unwrap_or_default();
    Sense(u64::from_le_bytes(bits))
}

/// Whether more letters may follow the term in its word.
pub(super) fn is_open_after(meaning: &Meaning) -> bool {
    meaning.get(8) == Some(&1)
}

pub(super) fn language(meaning: &Meaning) -> &str {
    let language = meaning.get(9..).unwrap_or_default();
    str::from_utf8(language.trim_ascii_end()).unwrap_or_default()
}
