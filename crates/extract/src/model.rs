//! A linear model over hashed features.
//!
//! A feature is a short text, such as `left:code`. Its hash chooses one of the weights,
//! and the score of a candidate is the sum of the weights of its features. Weights are
//! small integers in a file of the repository, so the same bytes give the same score on
//! every machine. `train/train.py` makes the files.

/// The last index of a table of weights.
const LAST: u32 = (1 << 17) - 1;

/// One unit of log odds as a sum of weights.
pub(crate) const UNIT: i32 = 32;

/// The weights of one kind of candidate.
pub(crate) struct Model(&'static [u8]);

/// For codes.
pub(crate) const CODES: Model = Model(include_bytes!("model/codes.bin"));
/// For links.
pub(crate) const LINKS: Model = Model(include_bytes!("model/links.bin"));

impl Model {
    /// The log odds that these features give, in parts of [`UNIT`].
    pub(crate) fn score(&self, features: &Features) -> i32 {
        let weight = |place: &u32| {
            let byte = usize::try_from(*place).ok().and_then(|at| self.0.get(at));
            byte.map_or(0, |byte| i32::from(byte.cast_signed()))
        };
        features.0.iter().map(weight).sum()
    }
}

/// The probability in percent of a score, from 1 to 99. Whole numbers only, so that every
/// machine gives the same.
pub(crate) fn percent(score: i32) -> u8 {
    let reached = ODDS.iter().take_while(|needed| score >= **needed).count();
    u8::try_from(reached.max(1)).unwrap_or(99)
}

/// The scores from which a probability is at least 1, 2, … 99 percent: the logarithms of
/// the odds, in parts of [`UNIT`].
const ODDS: [i32; 99] = [
    -147, -124, -111, -101, -94, -88, -82, -78, -74, -70, -66, -63, -60, -58, -55, -53, -50, -48,
    -46, -44, -42, -40, -38, -36, -35, -33, -31, -30, -28, -27, -25, -24, -22, -21, -19, -18, -17,
    -15, -14, -12, -11, -10, -9, -7, -6, -5, -3, -2, -1, 0, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 15,
    16, 18, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 36, 37, 39, 41, 43, 45, 47, 49, 51, 54, 56,
    59, 61, 64, 67, 71, 75, 79, 83, 89, 95, 102, 112, 125, 148,
];

/// The features of a candidate or of a mail, as indexes into the table of weights.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features(Vec<u32>);

impl Features {
    /// No features yet, with room for those of a candidate.
    pub(crate) fn of_candidate() -> Self {
        Self(Vec::with_capacity(512))
    }

    /// Adds a feature of a kind.
    pub(crate) fn add(&mut self, kind: &str, text: &str) {
        let mut hash = Hash::of(kind);
        hash.push(text);
        self.0.push(hash.bucket());
    }

    /// Adds the words of a text, their pieces, and how often there are numbers.
    pub(crate) fn add_words(&mut self, kind: &str, words: &[&str], detail: Detail) {
        let kind = Hash::of(kind);
        for word in words {
            self.add_word(kind, word, detail);
        }
    }

    fn add_word(&mut self, kind: Hash, word: &str, detail: Detail) {
        let mut whole = kind;
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            // A model must not remember numbers.
            whole.push(if word.len() < 4 { "#" } else { "##" });
            self.0.push(whole.bucket());
            return;
        }
        let dense = word.chars().any(is_unspaced);
        let size = if dense { 2 } else { 4 };
        if !dense {
            whole.push(word);
            self.0.push(whole.bucket());
        }
        if !dense && detail == Detail::Words {
            return;
        }
        // The only piece of a short word is the word itself.
        if !dense && word.chars().nth(size).is_none() {
            return;
        }
        let starts = word.char_indices().map(|(at, _)| at);
        let ends = starts.clone().chain([word.len()]).skip(size);
        for (start, end) in starts.zip(ends) {
            let piece = word.get(start..end);
            let mut hash = kind;
            hash.push("~");
            hash.push(piece.unwrap_or_default());
            self.0.push(hash.bucket());
        }
    }

    /// Sorts the indexes and removes repeated ones: a feature that occurs twice counts once.
    pub(crate) fn unique(mut self) -> Self {
        self.0.sort_unstable();
        self.0.dedup();
        self.0.shrink_to_fit();
        self
    }

    pub(crate) fn places(&self) -> &[u32] {
        &self.0
    }
}

/// What a model sees of one candidate.
#[derive(Debug, serde::Serialize)]
pub struct CandidateFeatures {
    /// The code or the URL.
    pub value: String,
    /// The points of the rules.
    pub points: i32,
    /// Indexes into the table of weights.
    pub features: Vec<u32>,
}

/// How much of a word becomes features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Whole words, and pieces where words are written without spaces.
    Words,
    /// Whole words and pieces, so that inflected forms share features.
    Pieces,
}

/// FNV-1a: short, and the same everywhere.
#[derive(Debug, Clone, Copy)]
struct Hash(u32);

impl Hash {
    fn of(kind: &str) -> Self {
        let mut hash = Self(0x811c_9dc5);
        hash.push(kind);
        hash.push(":");
        hash
    }

    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193);
        }
    }

    fn bucket(self) -> u32 {
        // The high bits of this hash are better than the low ones.
        (self.0 ^ (self.0 >> 15)) & LAST
    }
}

/// Whether a script is written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f00}'..='\u{fff}')
}

/// The words of a text.
pub(crate) fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || is_mark(c);
    text.split(move |c: char| !is_part(c))
        .filter(|word| !word.is_empty())
}

/// The vowel signs of syllabaries are parts of words.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}')
}
