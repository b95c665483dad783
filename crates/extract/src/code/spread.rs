//! How the values of a mail are spread over it, and how each compares with the others.

use std::collections::HashMap;

use super::candidate::Candidate;
use crate::model::Collector;
use crate::reading::TextSource;

/// How the values of a mail are spread over it.
#[derive(Debug, Default)]
pub(super) struct Spread {
    values: HashMap<String, Occurrences>,
}

/// Where and how one value occurs.
#[derive(Debug, Clone, Copy, Default)]
struct Occurrences {
    count: usize,
    sources: [bool; 3],
    /// The most points of the rules.
    points: i32,
    /// It has a line of its own.
    is_alone: bool,
}

impl Spread {
    pub(super) fn note(&mut self, candidate: &Candidate, source: TextSource, points: i32) {
        if candidate.shape.is_wordlike() {
            return;
        }
        let value = candidate.compact.to_ascii_uppercase();
        let known = self.values.entry(value).or_insert(Occurrences {
            points,
            ..Occurrences::default()
        });
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
        let value = candidate.compact.to_ascii_uppercase();
        let own = self.values.get(&value).copied().unwrap_or_default();
        let values = number(self.values.len());
        let alone = if candidate.alone { "alone" } else { "within" };
        features.add("times", number(own.count));
        features.add_written("sources", format_args!("{:?}", own.sources));
        features.add("values", values);
        features.add_written("values layout", format_args!("{values} {alone}"));
        let length = value.len();
        let alike = self.values.keys().filter(|other| other.len() == length);
        features.add("alike", number(alike.count()));
        let others = || self.values.iter().filter(|(other, _)| **other != value);
        let better = others().filter(|(_, other)| other.points > own.points);
        features.add("rank", number(better.count()));
        let best = others().map(|(_, other)| other.points).max();
        let lead = best.map_or(9, |best| ((own.points - best).div_euclid(15)).clamp(-6, 6));
        features.add_written("lead", format_args!("{lead}"));
        let rivals = others().filter(|(_, other)| other.is_alone).count();
        features.add_written("rivals", format_args!("{} {alone}", number(rivals)));
    }
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
