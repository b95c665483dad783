//! The alphabets in which a code of words may be written.

use unicode_normalization::UnicodeNormalization as _;

/// An alphabet, or another script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Georgian,
    Hebrew,
    Arabic,
    Ethiopic,
    Hangul,
    Kana,
    Han,
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
            '\u{5d0}'..='\u{5ea}' => Some(Self::Hebrew),
            '\u{620}'..='\u{64a}' | '\u{671}'..='\u{6d3}' => Some(Self::Arabic),
            '\u{1200}'..='\u{135a}' => Some(Self::Ethiopic),
            '\u{ac00}'..='\u{d7a3}' => Some(Self::Hangul),
            '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' => Some(Self::Kana),
            '\u{4e00}'..='\u{9fff}' => Some(Self::Han),
            _ => None,
        }
    }

    /// How many letters say no more than one word, if a few letters of the script can be a
    /// sentence. Three words of the other alphabets say little.
    pub(super) fn most_letters(self) -> Option<usize> {
        match self {
            Self::Latin | Self::Greek | Self::Cyrillic | Self::Armenian | Self::Georgian => None,
            Self::Hebrew | Self::Arabic => Some(6),
            Self::Ethiopic | Self::Hangul | Self::Kana => Some(4),
            Self::Han => Some(2),
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
