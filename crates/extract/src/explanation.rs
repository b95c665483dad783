//! How the answer came about, as data. It never holds a value.

use serde::Serialize;

use crate::code::Considered;
use crate::link::ConsideredLink;
use crate::reading::{Reading, Source};

/// Changes whenever the rules or the lexicons do.
pub(crate) const RULESET: &str = "2026-11-15.5";

/// Everything needed to understand an answer, and nothing to act on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The version of the rules.
    pub ruleset: &'static str,
    /// What was read.
    pub sources: Vec<SourceRead>,
    /// The languages whose words were met, most often first.
    pub languages: Vec<&'static str>,
    /// The candidates for the code, best first.
    pub code: Vec<Considered>,
    /// The links, best first.
    pub links: Vec<ConsideredLink>,
}

/// A part of the mail and how much of it a reader sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceRead {
    /// Which part.
    pub source: Source,
    /// Bytes of visible text, folded for matching.
    pub visible: usize,
    /// Bytes of text that a reader does not see.
    pub hidden: usize,
    /// There was more than is examined.
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
