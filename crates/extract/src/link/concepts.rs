//! What the words at a link stand for, whatever their language, as features.
//!
//! "Activate" alone says little: an account is activated, and so is a voucher.

use std::ops::Range;

use super::collect::WrittenLink;
use super::surroundings::{REACH, text_before};
use crate::lexicon::Hit;
use crate::model::{Collector, Kind};
use crate::reading::Reading;
use crate::steps::Steps;

/// Steps charged for a link.
const PER_LINK: usize = 400;

/// The text of a link, and the terms in it that stand for concepts.
#[derive(Clone, Copy)]
pub(super) struct Concepts<'r> {
    text: &'r str,
    hits: &'r [Hit],
}

impl<'r> Concepts<'r> {
    pub(super) fn of(reading: &'r Reading, steps: &Steps<'_>) -> Self {
        Self {
            text: reading.text(),
            hits: &reading.concepts(steps).hits,
        }
    }

    fn within(&self, range: &Range<usize>) -> &'r [Hit] {
        let from = self.hits.partition_point(|hit| hit.start() < range.start);
        let until = self.hits.partition_point(|hit| hit.start() < range.end);
        self.hits.get(from..until).unwrap_or_default()
    }

    /// Adds the concepts of the link's own text.
    pub(super) fn add_own(
        &self,
        written: &WrittenLink,
        features: &mut Collector,
        steps: &Steps<'_>,
    ) {
        steps.charge(PER_LINK);
        let own = written.at..written.end;
        add(
            const { Kind::of("concept own") },
            self.within(&own),
            features,
        );
    }

    /// Adds the concepts of the rest of its line.
    pub(super) fn add_line(&self, written: &WrittenLink, features: &mut Collector) {
        let line = self.line(written);
        let kind = const { Kind::of("concept line") };
        add(kind, self.within(&(line.start..written.at)), features);
        add(kind, self.within(&(written.end..line.end)), features);
    }

    /// Adds the concepts of the lines above.
    pub(super) fn add_above(&self, written: &WrittenLink, features: &mut Collector) {
        let start = self.line(written).start;
        let above = start - text_before(self.text, start).len()..start;
        add(
            const { Kind::of("concept above") },
            self.within(&above),
            features,
        );
    }

    /// The line of a link, as far as it can say something about it.
    fn line(&self, written: &WrittenLink) -> Range<usize> {
        let before = text_before(self.text, written.at);
        let before = before.rsplit(['\n', '\t']).next().unwrap_or_default();
        let end = self.text.floor_char_boundary(written.end + REACH);
        let after = self.text.get(written.end..end).unwrap_or_default();
        let after = after.split(['\n', '\t']).next().unwrap_or_default();
        written.at - before.len()..written.end + after.len()
    }
}

/// Adds the concepts of terms.
pub(super) fn add(kind: Kind, hits: &[Hit], features: &mut Collector) {
    for hit in hits {
        for number in hit.numbers().into_iter().take_while(|number| *number != 0) {
            features.add_kind(kind.then_byte(number));
        }
    }
}
