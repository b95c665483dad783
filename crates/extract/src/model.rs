//! A linear model over hashed features.
//!
//! A feature is a short text, such as `left:code`. Its hash chooses one of the weights,
//! and the score of a candidate is the sum of the weights of its features. Weights are
//! small integers in a file of the repository, so the same bytes give the same score on
//! every machine. `train/train.py` makes the files.

use std::cell::RefCell;

mod kind;
mod network;
mod trees;
mod word;

pub(crate) use kind::Kind;
pub(crate) use network::{NETWORK, Sums};
pub(crate) use trees::{TARGETS, VALUES};
pub(crate) use word::words;

use word::is_unspaced;

/// One unit of log odds as a sum of weights.
pub(crate) const UNIT: i32 = 32;

/// The weights of one kind of candidate. Their number is a power of two.
pub(crate) struct Model(&'static [u8]);

/// For codes.
pub(crate) const CODES: Model = Model(include_bytes!("model/codes.bin"));
/// For mails: whether one has a code at all.
pub(crate) const MAILS: Model = Model(include_bytes!("model/mails.bin"));
/// For links.
pub(crate) const LINKS: Model = Model(include_bytes!("model/links.bin"));

impl Model {
    /// The log odds that these features give, in parts of [`UNIT`].
    pub(crate) fn score(&self, features: &Features) -> i32 {
        self.sum(&features.places)
    }

    /// The log odds that each part of these features gives.
    pub(crate) fn score_parts(&self, features: &Features) -> [i32; PARTS] {
        let mut from = 0;
        features.ends.map(|end| {
            let part = features.places.get(from..end).unwrap_or_default();
            from = end;
            self.sum(part)
        })
    }

    /// The index of the last weight.
    fn last(&self) -> u32 {
        u32::try_from(self.0.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    fn sum(&self, places: &[u32]) -> i32 {
        let weight = |place: &u32| {
            let byte = self.0.get((place & self.last()) as usize);
            byte.map_or(0, |byte| i32::from(byte.cast_signed()))
        };
        places.iter().map(weight).sum()
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

/// A count of at most `most`, for the trees.
pub(crate) fn small(count: usize, most: usize) -> i32 {
    i32::try_from(count.min(most)).unwrap_or_default()
}

/// How many parts the features of a candidate have at most.
pub(crate) const PARTS: usize = 6;

/// The features of a candidate or of a mail, as hashes. The low bits of a hash are an index
/// into the table of weights.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features {
    places: Vec<u32>,
    /// Where each part ends.
    ends: [usize; PARTS],
}

impl Features {
    /// The hashes of the first parts.
    fn first_parts(&self, parts: usize) -> impl Iterator<Item = u32> {
        let end = self.ends.get(parts.saturating_sub(1));
        let places = end.and_then(|end| self.places.get(..*end));
        places.unwrap_or_default().iter().copied()
    }

    /// The hashes of each part.
    pub(crate) fn parts(&self) -> Vec<Vec<u32>> {
        let mut from = 0;
        let mut parts = Vec::with_capacity(PARTS);
        for end in self.ends {
            let part = self.places.get(from..end).unwrap_or_default();
            parts.push(part.to_vec());
            from = end;
        }
        parts
    }
}

/// How many places a collector tells apart. Each mail needs its own bits, so they are fewer
/// than the weights of codes.
const SEEN: usize = 1 << 18;

/// Collects features, each of them once. One collector serves all candidates of a mail.
pub(crate) struct Collector {
    /// A bit for each place, by its low bits: whether its feature is there. Of two features
    /// that share these, the first counts.
    seen: Vec<u64>,
    places: Vec<u32>,
    /// Where the parts end that are complete.
    ends: [usize; PARTS],
    part: usize,
}

thread_local! {
    /// The bits of the last collector of the thread, none of them set: to clear them again
    /// takes longer than to read a short mail.
    static SPARE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Collector {
    fn drop(&mut self) {
        if self.places.is_empty() {
            SPARE.set(std::mem::take(&mut self.seen));
        }
    }
}

impl Collector {
    pub(crate) fn new() -> Self {
        let mut seen = SPARE.take();
        seen.resize(SEEN / 64, 0);
        Self {
            seen,
            places: Vec::with_capacity(1024),
            ends: [0; PARTS],
            part: 0,
        }
    }

    /// The features so far. The collector is empty afterwards.
    pub(crate) fn take(&mut self) -> Features {
        for end in self.ends.iter_mut().skip(self.part) {
            *end = self.places.len();
        }
        self.part = 0;
        let features = Features {
            places: self.places.clone(),
            ends: self.ends,
        };
        for place in self.places.drain(..) {
            if let Some(bits) = self.seen.get_mut(place as usize % SEEN / 64) {
                *bits = 0;
            }
        }
        features
    }

    /// Ends a part of the features.
    pub(crate) fn end_part(&mut self) {
        if let Some(end) = self.ends.get_mut(self.part) {
            *end = self.places.len();
            self.part += 1;
        }
    }

    /// Adds the features that another candidate has in the part that is open, if it has the
    /// same features in the parts before. Returns whether it has.
    pub(crate) fn add_part_of(&mut self, other: &Features) -> bool {
        let ends = |ends: &[usize; PARTS]| ends.get(..self.part) == self.ends.get(..self.part);
        let start = self.places.len();
        let is_same = ends(&other.ends) && other.places.get(..start) == Some(&self.places);
        let end = other.ends.get(self.part).filter(|_| is_same);
        let part = end.and_then(|end| other.places.get(start..*end));
        for place in part.unwrap_or_default() {
            self.add_place(*place);
        }
        part.is_some()
    }

    /// Adds the feature that ends here.
    pub(crate) fn add_kind(&mut self, kind: Kind) {
        self.add_place(kind.place());
    }

    fn add_place(&mut self, place: u32) {
        let bit = 1 << (place % 64);
        if let Some(bits) = self.seen.get_mut(place as usize % SEEN / 64)
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
    /// Candidates with the same text here are judged together.
    pub same: String,
    /// The points of the rules.
    pub points: i32,
    /// Hashes whose low bits are indexes into the table of weights, in parts.
    pub features: Vec<Vec<u32>>,
    /// Numbers for the trees.
    pub facts: Vec<i32>,
}

/// How much of a word becomes features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Whole words, and pieces where words are written without spaces.
    Words,
    /// Whole words and pieces, so that inflected forms share features.
    Pieces,
}
