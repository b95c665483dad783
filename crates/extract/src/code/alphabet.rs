//! The alphabets in which a code of words may be written.

use unicode_normalization::UnicodeNormalization as _;

/// An alphabet whose words are separated by spaces. Three words of it say little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Georgian,
}

impl Alphabet {
    /// The alphabet of a letter, if it is one of these.
    pub(super) fn of(c: char) -> Option<Self> {
        match c {
            'a'..='z' | 'A'..='Z' => Some(Self::Latin),
            _ if !c.is_alphabetic() => None,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Some(Self::Latin),
            '\u{370}'..='\u{3ff}' => Some(Self::Greek),
            '\u{400}'..='\u{52f}' => Some(Self::Cyrillic),
            '\u{531}'..='\u{587}' => Some(Self::Armenian),
            '\u{10d0}'..='\u{10ff}' => Some(Self::Georgian),
            _ => None,
        }
    }
}

/// Whether all letters are of one alphabet, and none stands for others. Letters that only
/// look like others could hide a word from the lexicons.
pub(super) fn is_of_one_alphabet(piece: &str) -> bool {
    let mut alphabets = piece.chars().filter_map(Alphabet::of);
    let first = alphabets.next();
    alphabets.all(|other| Some(other) == first) && piece.nfkc().eq(piece.chars())
}
