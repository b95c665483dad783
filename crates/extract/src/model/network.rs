//! A small network over frequent features and the facts of the trees.
//!
//! A weight judges its feature whatever stands beside it, and the trees see only sums of
//! weights. The network has two layers between its inputs and its score, so it can judge
//! what features mean together. All numbers are whole, so the same bytes give the same
//! score on every machine. `train/train.py` makes the file.

use std::sync::LazyLock;

use super::Features;

/// For the values of codes.
pub(crate) static NETWORK: LazyLock<Network> = LazyLock::new(|| {
    let file = include_bytes!("network.bin");
    // A test reads the file. A network without cells gives every value the odds 0.
    Network::parse(file).unwrap_or_default()
});

/// How many parts of the features are inputs: all but the words.
const CANDIDATE_PARTS: usize = 5;
const MAIL_PARTS: usize = 2;

/// Which bits of a hash say which feature it is.
const KEY: u32 = (1 << 22) - 1;
/// Weights, and what cells pass on, have this many bits after the point. Weights of facts and
/// the starts of cells have twice as many.
const FINE: u32 = 10;
/// Shifts a sum of products down to parts of [`super::UNIT`].
const TO_UNITS: u32 = 2 * FINE - super::UNIT.ilog2();
/// Scores count up to this much.
const LIMIT: i64 = 10 * super::UNIT as i64;

/// The network.
#[derive(Debug, Default)]
pub(crate) struct Network {
    candidate: Table,
    mail: Table,
    facts: Vec<Fact>,
    start: Vec<i64>,
    second: Vec<Cell>,
    last: Cell,
}

/// Features that are inputs.
#[derive(Debug, Default)]
struct Table {
    /// Sorted, each once.
    keys: Vec<u32>,
    /// For each of them the weights to the cells of the first layer, one after the other.
    weights: Vec<i16>,
    cells: usize,
}

/// A fact that is an input.
#[derive(Debug)]
struct Fact {
    /// Smaller numbers count as this one.
    least: i32,
    /// Larger numbers count as this one.
    most: i32,
    weights: Vec<i64>,
}

/// A cell behind the first layer.
#[derive(Debug, Default)]
struct Cell {
    start: i64,
    weights: Vec<i16>,
    /// If all inputs are at most this, short numbers are enough: their products and the sum of
    /// them stay within 32 bits, and processors multiply many of them at once.
    short: i64,
}

/// What the features of a candidate or a mail add to the cells of the first layer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums(Vec<i32>);

impl Table {
    /// Adds up the weights of features.
    fn sums(&self, features: impl Iterator<Item = u32>) -> Sums {
        let mut sums = vec![0; self.cells];
        for feature in features {
            let Ok(at) = self.keys.binary_search(&(feature & KEY)) else {
                continue;
            };
            let from = at * self.cells;
            let weights = self.weights.get(from..from + self.cells);
            for (sum, weight) in sums.iter_mut().zip(weights.unwrap_or_default()) {
                *sum += i32::from(*weight);
            }
        }
        Sums(sums)
    }
}

impl Network {
    /// What the features of a candidate add.
    pub(crate) fn of_candidate(&self, features: &Features) -> Sums {
        self.candidate.sums(features.first_parts(CANDIDATE_PARTS))
    }

    /// What the features that all candidates of a mail share add.
    pub(crate) fn of_mail(&self, features: &Features) -> Sums {
        self.mail.sums(features.first_parts(MAIL_PARTS))
    }

    /// The log odds of a value, in parts of [`super::UNIT`].
    pub(crate) fn odds(&self, facts: &[i32], candidate: &Sums, mail: &Sums) -> i32 {
        let mut cells = self.start.clone();
        for sums in [candidate, mail] {
            for (cell, sum) in cells.iter_mut().zip(&sums.0) {
                *cell += i64::from(*sum) << FINE;
            }
        }
        for (fact, number) in self.facts.iter().zip(facts) {
            let number = i64::from((*number).clamp(fact.least, fact.most));
            if number == 0 {
                continue;
            }
            for (cell, weight) in cells.iter_mut().zip(&fact.weights) {
                *cell += number * weight;
            }
        }
        let first = Inputs::of(&cells);
        let second: Vec<i64> = self.second.iter().map(|cell| cell.sum(&first)).collect();
        let odds = self.last.sum(&Inputs::of(&second)) >> TO_UNITS;
        i32::try_from(odds.clamp(-LIMIT, LIMIT)).unwrap_or_default()
    }
}

impl Cell {
    fn new(start: i64, weights: Vec<i16>) -> Self {
        let all = weights.iter().map(|weight| i64::from(*weight).abs());
        let short = i64::from(i32::MAX) / all.sum::<i64>().max(1);
        Self {
            start,
            weights,
            short: short.min(i16::MAX.into()),
        }
    }

    fn sum(&self, inputs: &Inputs) -> i64 {
        if inputs.most <= self.short {
            let products = self.weights.iter().zip(&inputs.short);
            let products = products.map(|(one, two)| i32::from(*one) * i32::from(*two));
            return self.start + i64::from(products.sum::<i32>());
        }
        let products = self.weights.iter().zip(&inputs.all);
        let products = products.map(|(one, two)| i64::from(*one) * two);
        self.start + products.sum::<i64>()
    }
}

/// What cells pass on.
struct Inputs {
    all: Vec<i64>,
    /// The same as short numbers, if they fit.
    short: Vec<i16>,
    most: i64,
}

impl Inputs {
    /// Cells pass on nothing below zero.
    fn of(cells: &[i64]) -> Self {
        let all: Vec<i64> = cells.iter().map(|cell| (*cell).max(0) >> FINE).collect();
        let short = all.iter().map(|input| i16::try_from(*input));
        Self {
            most: all.iter().copied().max().unwrap_or_default(),
            short: short.map(Result::unwrap_or_default).collect(),
            all,
        }
    }
}

impl Network {
    /// Reads the file: five counts, and then all numbers in the order of the fields.
    fn parse(file: &[u8]) -> Option<Self> {
        let mut numbers = Numbers(file);
        let mut count = || usize::try_from(numbers.long()?).ok();
        let (own, shared, facts) = (count()?, count()?, count()?);
        let (first, second) = (count()?, count()?);
        let network = Self {
            candidate: numbers.table(own, first)?,
            mail: numbers.table(shared, first)?,
            facts: numbers.many(facts, |numbers| numbers.fact(first))?,
            start: numbers.many(first, |numbers| numbers.long().map(i64::from))?,
            second: numbers.many(second, |numbers| numbers.cell(first))?,
            last: numbers.cell(second)?,
        };
        numbers.0.is_empty().then_some(network)
    }
}

/// The rest of a file.
struct Numbers<'f>(&'f [u8]);

impl Numbers<'_> {
    fn long(&mut self) -> Option<i32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_le_bytes(*number))
    }

    fn short(&mut self) -> Option<i16> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i16::from_le_bytes(*number))
    }

    fn many<T>(
        &mut self,
        count: usize,
        mut one: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        (0..count).map(|_| one(self)).collect()
    }

    fn table(&mut self, features: usize, cells: usize) -> Option<Table> {
        let keys = self.many(features, Self::long)?;
        Some(Table {
            keys: keys.into_iter().map(i32::cast_unsigned).collect(),
            weights: self.many(features * cells, Self::short)?,
            cells,
        })
    }

    fn fact(&mut self, weights: usize) -> Option<Fact> {
        Some(Fact {
            least: self.long()?,
            most: self.long()?,
            weights: self.many(weights, |numbers| numbers.long().map(i64::from))?,
        })
    }

    fn cell(&mut self, weights: usize) -> Option<Cell> {
        let start = self.long()?.into();
        Some(Cell::new(start, self.many(weights, Self::short)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Collector, Kind, UNIT};
    use super::*;

    #[test]
    fn file_holds_a_whole_network_with_sorted_keys_and_every_fact() {
        let network = Network::parse(include_bytes!("network.bin")).unwrap();
        for table in [&network.candidate, &network.mail] {
            assert!(table.keys.is_sorted_by(|one, next| one < next));
            assert!(table.keys.last().is_some_and(|last| *last <= KEY));
        }
        assert_eq!(network.facts.len(), 44);
        assert!(network.facts.iter().all(|fact| fact.least < fact.most));
        assert_eq!(network.last.weights.len(), network.second.len());
    }

    #[test]
    fn cut_and_long_files_are_no_networks() {
        let file = include_bytes!("network.bin");
        assert!(Network::parse(file.get(..file.len() - 1).unwrap()).is_none());
        assert!(Network::parse(&[file, &[0][..]].concat()).is_none());
    }

    #[test]
    fn features_of_the_first_parts_are_found_by_the_low_bits_of_their_hashes() {
        let mut collector = Collector::new();
        let (seen, word) = (Kind::of("seen"), Kind::of("word"));
        collector.add_kind(seen);
        collector.end_part();
        collector.end_part();
        collector.add_kind(word);
        let features = collector.take();
        assert!(
            seen.place() > KEY && word.place() > KEY,
            "high bits are set"
        );
        let mut keys = vec![seen.place() & KEY, word.place() & KEY];
        keys.sort_unstable();
        let table = Table {
            weights: keys
                .iter()
                .map(|key| if *key == seen.place() & KEY { 5 } else { 7 })
                .collect(),
            keys,
            cells: 1,
        };
        assert_eq!(table.sums(features.first_parts(MAIL_PARTS)).0, [5]);
        assert_eq!(table.sums(features.first_parts(CANDIDATE_PARTS)).0, [12]);
    }

    /// One fact and two cells, computed by hand.
    #[test]
    fn odds_add_up_features_and_facts_and_pass_on_nothing_below_zero() {
        const ONE: i64 = 1 << FINE;
        const SHORT: i16 = 1 << FINE;
        let network = Network {
            facts: vec![Fact {
                least: 0,
                most: 3,
                weights: vec![ONE * ONE, 0],
            }],
            start: vec![0, 0],
            second: vec![Cell::new(0, vec![SHORT, SHORT])],
            last: Cell::new(0, vec![SHORT]),
            ..Network::default()
        };
        let sums = Sums(vec![1 << FINE, -(1 << FINE)]);
        let none = Sums(vec![0, 0]);
        // 1 of the feature and 3 of the fact in the first cell; the second one is below zero.
        assert_eq!(network.odds(&[9], &sums, &none), 4 * UNIT);
        assert_eq!(network.odds(&[9], &none, &none), 3 * UNIT);
        assert_eq!(network.odds(&[1], &none, &sums), 2 * UNIT);
    }
}
