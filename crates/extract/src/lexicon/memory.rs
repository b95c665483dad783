//! Remembers the terms of lines. The text and the HTML of a mail mostly have the same lines, and
//! no term goes beyond a line, so the terms of a line are searched for once.

use std::ops::Range;

use super::{Hit, Languages};

/// A shorter line is searched faster than it is remembered.
const SHORTEST: usize = 12;
/// No more is remembered than so many bytes of lines.
const MOST: usize = 32 * 1024;
/// A power of two. Of two lines with the same slot, the later one is remembered.
const SLOTS: usize = 256;

/// The terms of lines, for one lexicon.
#[derive(Debug)]
pub(crate) struct Memory {
    /// For each slot the line that is remembered, counted from 1.
    slots: [u16; SLOTS],
    lines: Vec<Line>,
    /// The lines, one after the other.
    text: String,
    /// Their terms, one after the other. Offsets are those in the line.
    hits: Vec<Hit>,
}

#[derive(Debug)]
struct Line {
    text: Range<usize>,
    languages: Languages,
    hits: Range<usize>,
    /// The steps that the search took.
    steps: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            slots: [0; SLOTS],
            lines: Vec::with_capacity(32),
            text: String::with_capacity(2048),
            hits: Vec::with_capacity(128),
        }
    }
}

impl Memory {
    /// The terms of a line in these languages, if they are known, and the steps that the search
    /// for them took.
    pub(super) fn recall(&self, line: &str, languages: Languages) -> Option<(&[Hit], usize)> {
        let number = self.slots.get(slot(line)?)?;
        let known = self.lines.get(usize::from(*number).checked_sub(1)?)?;
        let is_same = known.languages == languages && self.text.get(known.text.clone())? == line;
        let hits = self.hits.get(known.hits.clone())?;
        is_same.then_some((hits, known.steps))
    }

    /// Remembers the terms of a line that begins at an offset of a text.
    pub(super) fn keep(
        &mut self,
        (line, at): (&str, usize),
        languages: Languages,
        hits: &[Hit],
        steps: usize,
    ) {
        let place = slot(line).and_then(|slot| self.slots.get_mut(slot));
        let Some(place) = place.filter(|_| self.text.len() + line.len() <= MOST) else {
            return;
        };
        let (text, terms) = (self.text.len(), self.hits.len());
        self.text.push_str(line);
        self.hits
            .extend(hits.iter().filter_map(|hit| hit.before(at)));
        self.lines.push(Line {
            text: text..self.text.len(),
            languages,
            hits: terms..self.hits.len(),
            steps,
        });
        *place = u16::try_from(self.lines.len()).unwrap_or_default();
    }
}

/// Where a line is remembered, if it is worth it.
fn slot(line: &str) -> Option<usize> {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    if line.len() < SHORTEST {
        return None;
    }
    let (pieces, rest) = line.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    for (byte, known) in last.iter_mut().zip(rest) {
        *byte = *known;
    }
    let pieces = pieces.iter().chain([&last]);
    let hash = pieces.fold(0, |hash: u64, piece| {
        (hash.rotate_left(29) ^ u64::from_le_bytes(*piece)).wrapping_mul(ODD)
    });
    usize::try_from(hash >> (64 - SLOTS.ilog2())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::{concept_hits, known_concept_hits};
    use crate::steps::Steps;

    #[test]
    fn known_lines_have_the_same_terms_for_the_same_steps() {
        let line = "Enter the code 482913 within ten minutes.\n";
        let text = format!("{line}пароль: 4821, not the code\n{line}code\ncode\n{line}");
        let mut memory = Memory::default();
        for _ in 0..2 {
            let (searched, known) = (Steps::for_size(9), Steps::for_size(9));
            assert_eq!(
                known_concept_hits(&text, Languages::ALL, &mut memory, &known),
                concept_hits(&text, Languages::ALL, &searched)
            );
            assert_eq!(known.taken(), searched.taken());
        }
        assert!(memory.recall(line, Languages::ALL).is_some());
        assert_eq!(memory.recall("code\n", Languages::ALL), None, "too short");
    }
}
