//! A linear model over hashed features.
//!
//! A feature is a short text, such as `left:code`. Its hash chooses one of the weights,
//! and the score of a candidate is the sum of the weights of its features. Weights are
//! small integers in a file of the repository, so the same bytes give the same score on
//! every machine. `train/train.py` makes the files.

mod kind;
mod word;

pub(crate) use kind::Kind;
pub(crate) use word::words;

use kind::LAST;
use word::is_unspaced;

/// One unit of log odds as a sum of weights.
pub(crate) const UNIT: i32 = 32;

/// The weights of one kind of candidate.
pub(crate) struct Model(&'static [u8]);

/// For codes.
pub(crate) const CODES: Model = Model(include_bytes!("model/codes.bin"));
/// The bias and the weights of the facts about a value, as 32-bit integers.
const VALUES: &[u8] = include_bytes!("model/values.bin");
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

/// The bias of the log odds of a value, or the weight of one of its facts.
pub(crate) fn value_weight(index: usize) -> i32 {
    let (numbers, _) = VALUES.as_chunks::<4>();
    let number = numbers.get(index).copied().unwrap_or_default();
    i32::from_le_bytes(number)
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
    /// Adds the feature that ends here, even if it is there already.
    pub(crate) fn add(&mut self, kind: Kind) {
        self.0.push(kind.place());
    }

    /// The indexes in order.
    pub(crate) fn places(&self) -> Vec<u32> {
        let mut places = self.0.clone();
        places.sort_unstable();
        places
    }
}

/// Collects features, each of them once. One collector serves all candidates of a mail.
pub(crate) struct Collector {
    /// A bit for each weight: whether its feature is there.
    seen: Vec<u64>,
    places: Vec<u32>,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            seen: vec![0; LAST as usize / 64 + 1],
            places: Vec::with_capacity(1024),
        }
    }
}

impl Collector {
    /// The features so far. The collector is empty afterwards.
    pub(crate) fn take(&mut self) -> Features {
        let features = Features(self.places.clone());
        for place in self.places.drain(..) {
            if let Some(bits) = self.seen.get_mut(place as usize / 64) {
                *bits = 0;
            }
        }
        features
    }

    /// Adds the feature that ends here.
    pub(crate) fn add_kind(&mut self, kind: Kind) {
        let place = kind.place();
        let bit = 1 << (place % 64);
        if let Some(bits) = self.seen.get_mut(place as usize / 64)
            && *bits & bit == 0
        {
            *bits |= bit;
            self.places.push(place);
        }
    }

    /// Adds a feature of a kind.
    pub(crate) fn add(&mut self, kind: &str, text: &str) {
        self.add_kind(Kind::of(kind).then(text));
    }

    /// Adds words in small letters, their pieces, and how often there are numbers.
    pub(crate) fn add_words<'w>(
        &mut self,
        kind: Kind,
        words: impl Iterator<Item = &'w str>,
        detail: Detail,
    ) {
        for word in words {
            if word.is_ascii() {
                self.add_ascii_word(kind, word.as_bytes(), detail);
            } else {
                self.add_word(kind, word, detail);
            }
        }
    }

    fn add_ascii_word(&mut self, kind: Kind, word: &[u8], detail: Detail) {
        if word.iter().all(u8::is_ascii_digit) {
            // A model must not remember numbers.
            self.add_kind(kind.then(if word.len() < 4 { "#" } else { "##" }));
            return;
        }
        self.add_kind(kind.then_small(word));
        // The only piece of a short word is the word itself.
        if detail == Detail::Pieces && word.len() > PIECE {
            let kind = kind.then("~");
            for piece in word.array_windows::<PIECE>() {
                self.add_kind(kind.then_small(piece));
            }
        }
    }

    fn add_word(&mut self, kind: Kind, word: &str, detail: Detail) {
        let dense = word.chars().any(is_unspaced);
        let size = if dense { 2 } else { PIECE };
        if !dense {
            self.add_kind(kind.then(word));
            if detail == Detail::Words || word.chars().nth(size).is_none() {
                return;
            }
        }
        let kind = kind.then("~");
        let starts = word.char_indices().map(|(at, _)| at);
        let ends = starts.clone().chain([word.len()]).skip(size);
        for (start, end) in starts.zip(ends) {
            self.add_kind(kind.then(word.get(start..end).unwrap_or_default()));
        }
    }
}

/// How many letters a piece of a word has, in scripts with spaces.
const PIECE: usize = 4;

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
