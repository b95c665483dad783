//! How the values of a mail are spread over it, and how each compares with the others.

use super::candidate::Candidate;
use crate::model::{Collector, Kind};
use crate::reading::TextSource;

/// How the values of a mail are spread over it.
#[derive(Debug, Default)]
pub(super) struct Spread {
    values: Vec<Occurrences>,
}

/// Where and how one value occurs.
#[derive(Debug, Clone, Default)]
struct Occurrences {
    value: String,
    count: usize,
    sources: [bool; 3],
    /// The most points of the rules.
    points: i32,
    /// It has a line of its own.
    is_alone: bool,
}

impl Occurrences {
    fn is_of(&self, candidate: &Candidate) -> bool {
        self.value.eq_ignore_ascii_case(&candidate.compact)
    }
}

impl Spread {
    pub(super) fn note(&mut self, candidate: &Candidate, source: TextSource, points: i32) {
        if candidate.shape.is_wordlike() {
            return;
        }
        let place = self.values.iter().position(|one| one.is_of(candidate));
        let place = place.unwrap_or_else(|| {
            self.values.push(Occurrences {
                value: candidate.compact.clone(),
                points,
                ..Occurrences::default()
            });
            self.values.len() - 1
        });
        let Some(known) = self.values.get_mut(place) else {
            return;
        };
        known.count += 1;
        known.points = known.points.max(points);
        known.is_alone |= candidate.alone;
        let place = match source {
            TextSource::Subject => 0,
            TextSource::Text => 1,
            TextSource::Html => 2,
        };
        if let Some(known) = known.sources.get_mut(place) {
            *known = true;
        }
    }

    /// Adds how the value of a candidate compares with the others of its mail.
    pub(super) fn add(&self, candidate: &Candidate, features: &mut Collector) {
        let own = self.values.iter().position(|one| one.is_of(candidate));
        let others = || {
            let all = self.values.iter().enumerate();
            let others = all.filter(|(place, _)| Some(*place) != own);
            others.map(|(_, other)| other)
        };
        let none = Occurrences::default();
        let known = own.and_then(|own| self.values.get(own)).unwrap_or(&none);
        let values = number(self.values.len());
        let alone = if candidate.alone { "alone" } else { "within" };
        features.add_kind(const { Kind::of("times") }.then(number(known.count)));
        features.add_kind(written(const { Kind::of("sources") }, known.sources));
        features.add_kind(const { Kind::of("values") }.then(values));
        features.add_kind(
            const { Kind::of("values layout") }
                .then(values)
                .then(" ")
                .then(alone),
        );
        let length = candidate.compact.len();
        let alike = self.values.iter().filter(|one| one.value.len() == length);
        features.add_kind(const { Kind::of("alike") }.then(number(alike.count())));
        let better = others().filter(|other| other.points > known.points);
        features.add_kind(const { Kind::of("rank") }.then(number(better.count())));
        let best = others().map(|other| other.points).max();
        let lead = best.map_or(9, |best| {
            ((known.points - best).div_euclid(15)).clamp(-6, 6)
        });
        features.add_kind(const { Kind::of("lead") }.then_number(lead));
        let rivals = number(others().filter(|other| other.is_alone).count());
        features.add_kind(
            const { Kind::of("rivals") }
                .then(rivals)
                .then(" ")
                .then(alone),
        );
    }
}

/// In which sources a value occurs: `[true, false, true]`.
fn written(kind: Kind, sources: [bool; 3]) -> Kind {
    let word = |is: bool| if is { "true" } else { "false" };
    let [subject, text, html] = sources.map(word);
    let begun = kind.then("[").then(subject).then(", ");
    begun.then(text).then(", ").then(html).then("]")
}

/// A count as a word of a feature.
fn number(count: usize) -> &'static str {
    match count {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        4..=6 => "4-6",
        _ => "many",
    }
}
