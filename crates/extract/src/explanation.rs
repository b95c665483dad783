//! The evidence for a decision, as data. It never holds a value.

use serde::Serialize;

use crate::code::Considered;
use crate::link::ConsideredLink;
use crate::reading::{Reading, TextSource};

/// The version of the rules and lexicons. It changes whenever they do.
pub(crate) const RULESET: &str = "2026-11-20.1";

/// Everything needed to understand a decision, and nothing to act on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The version of the rules.
    pub ruleset: &'static str,
    /// The parts of the mail that were read.
    pub sources: Vec<SourceRead>,
    /// The languages of the terms that were found, most frequent first.
    pub languages: Vec<&'static str>,
    /// The candidates for the code, best first.
    pub code: Vec<Considered>,
    /// The links, best first.
    pub links: Vec<ConsideredLink>,
}

/// A part of the mail, and how much of it a person would see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceRead {
    /// Which part.
    pub source: TextSource,
    /// Bytes of visible text after folding.
    pub visible: usize,
    /// Bytes of hidden text.
    pub hidden: usize,
    /// The part is longer than what is examined.
    pub truncated: bool,
}

/// Describes the readings of a mail.
pub(crate) fn sources(readings: &[Reading]) -> Vec<SourceRead> {
    readings
        .iter()
        .map(|reading| SourceRead {
            source: reading.source,
            visible: reading.text().len(),
            hidden: reading.hidden.trim().len(),
            truncated: reading.truncated,
        })
        .collect()
}
