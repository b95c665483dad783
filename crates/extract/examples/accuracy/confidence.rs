//! What answers were worth, by the confidence that was stated with them.

use std::collections::BTreeMap;

use crate::judge::Verdict;
use crate::tally::Tally;

/// The answers about one kind of artifact, by percent of confidence.
#[derive(Debug, Default)]
pub(crate) struct Confidences {
    all: Tally,
    given: BTreeMap<u8, Tally>,
}

/// The answers of ten neighbouring percents.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tenth {
    pub(crate) tally: Tally,
    /// The sum of the stated confidences.
    stated: f64,
}

impl Confidences {
    pub(crate) fn add(&mut self, verdict: Verdict) {
        self.all.add(verdict);
        if verdict.answer.is_some() {
            self.given
                .entry(verdict.confidence)
                .or_default()
                .add(verdict);
        }
    }

    /// What is left when answers with less confidence are withheld.
    pub(crate) fn above(&self, threshold: u8) -> Tally {
        let given = self.given.range(threshold..);
        let count =
            |part: fn(&Tally) -> u32| given.clone().map(|(_, tally)| part(tally)).sum::<u32>();
        Tally {
            right: count(|tally| tally.right),
            wrong: count(|tally| tally.wrong),
            ..self.all
        }
    }

    pub(crate) fn by_tenth(&self) -> BTreeMap<u8, Tenth> {
        let mut tenths = BTreeMap::<u8, Tenth>::new();
        for (percent, tally) in &self.given {
            let tenth = tenths.entry((percent / 10).min(9)).or_default();
            tenth.tally.merge(*tally);
            tenth.stated += f64::from(tally.given()) * f64::from(*percent) / 100.0;
        }
        tenths
    }

    /// The mean of the squared differences between confidence and truth, of all answers.
    pub(crate) fn brier(&self) -> f64 {
        let squares = self.given.iter().map(|(percent, tally)| {
            let stated = f64::from(*percent) / 100.0;
            f64::from(tally.right) * (1.0 - stated).powi(2)
                + f64::from(tally.wrong) * stated.powi(2)
        });
        squares.sum::<f64>() / f64::from(self.all.given().max(1))
    }
}

impl Tenth {
    /// The mean of the stated confidences.
    pub(crate) fn stated(&self) -> f64 {
        self.stated / f64::from(self.tally.given().max(1))
    }
}
