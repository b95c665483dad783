//! A text with its lines and its terms.

use std::cell::Cell;

use super::segment::{Segment, segments};
use crate::lexicon::{Hit, Memory, Sense, code_hits};
use crate::reading::{Concepts, Reading, TextSource};
use crate::steps::Steps;

/// Steps charged for a byte that is split into lines.
const PER_BYTE: usize = 4;

/// A text with its lines and its terms.
pub(super) struct Context<'r> {
    pub(super) reading: &'r Reading,
    pub(super) segments: Vec<Segment>,
    pub(super) hits: Vec<Hit>,
    pub(super) steps: &'r Steps<'r>,
    /// The search for concepts was charged.
    has_paid: Cell<bool>,
}

impl<'r> Context<'r> {
    /// The contexts of the readings of a mail.
    pub(super) fn of_all(readings: &'r [Reading], steps: &'r Steps<'r>) -> Vec<Self> {
        let mut memory = Memory::default();
        let all = readings.iter();
        all.map(|reading| Self::of(reading, &mut memory, steps))
            .collect()
    }

    pub(super) fn of(reading: &'r Reading, memory: &mut Memory, steps: &'r Steps<'r>) -> Self {
        steps.charge(PER_BYTE * reading.text().len());
        Self {
            reading,
            segments: segments(reading.text()),
            hits: code_hits(reading.text(), memory, steps),
            steps,
            has_paid: Cell::new(false),
        }
    }

    /// The concepts of the text. They are charged once.
    pub(super) fn concepts(&self) -> &'r Concepts {
        match self.reading.known_concepts() {
            Some(known) if self.has_paid.get() => known,
            _ => {
                self.has_paid.set(true);
                self.reading.concepts(self.steps)
            }
        }
    }

    pub(super) fn text(&self) -> &'r str {
        self.reading.text()
    }
}

/// The senses of all terms in a mail.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MailContext {
    pub(super) subject: Sense,
    pub(super) body: Sense,
}

impl MailContext {
    pub(super) fn of(contexts: &[Context<'_>]) -> Self {
        let mut mail = Self::default();
        for context in contexts {
            let all = Hit::senses(&context.hits);
            match context.reading.source {
                TextSource::Subject => mail.subject = all,
                TextSource::Text | TextSource::Html => mail.body = mail.body.or(all),
            }
        }
        mail
    }
}
