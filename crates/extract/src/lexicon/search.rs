//! Searches texts for terms.

use super::boundary::{begins_word, length, word_end};
use super::trie::Trie;
use super::{Hit, Languages, Memory, Sense};
use crate::lines;
use crate::steps::Steps;

/// Steps charged for a word, and for comparing a word with a term.
const PER_WORD: usize = 6;
const PER_TRY: usize = 30;
/// How many terms that begin at one place are tried. If there are more, the longest are.
const MOST_BEGUN: usize = 16;
/// Most texts have a term at so many bytes.
const PER_HIT: usize = 16;
/// How many steps are taken before they are charged.
const AT_ONCE: usize = 2_000;

/// Steps that are charged many at once.
struct Account<'s> {
    steps: &'s Steps<'s>,
    /// Those that were charged, and those that were not yet.
    charged: usize,
    open: usize,
}

impl<'s> Account<'s> {
    fn new(steps: &'s Steps<'s>) -> Self {
        Self {
            steps,
            charged: 0,
            open: 0,
        }
    }

    fn all(&self) -> usize {
        self.charged + self.open
    }

    /// Charges the open steps if they are many. Returns whether the budget allows them.
    fn settle(&mut self) -> bool {
        self.open <= AT_ONCE || self.close()
    }

    fn close(&mut self) -> bool {
        self.charged += self.open;
        self.steps.charge(std::mem::take(&mut self.open))
    }
}

/// The terms that begin at one place, shortest first: the length and the number of each.
#[derive(Default)]
struct Begun {
    terms: [(usize, u32); MOST_BEGUN],
    count: usize,
}

impl Trie<'_> {
    /// Every term in the text, in order. `sense` gets a term, whether the term ends where its
    /// word ends, and the steps so far, to which it adds its own. It returns what the term
    /// means there, if anything.
    pub(super) fn hits(
        &self,
        text: &str,
        steps: &Steps<'_>,
        sense: impl Fn(u32, bool, &mut usize) -> Option<Sense>,
    ) -> Vec<Hit> {
        let (mut found, mut account) = (Vec::new(), Account::new(steps));
        self.add_hits((text, 0), &mut found, &mut account, sense);
        account.close();
        found
    }

    /// The same, line by line. The terms of known lines are not searched for again.
    pub(super) fn known_hits(
        &self,
        text: &str,
        (memory, languages): (&mut Memory, Languages),
        steps: &Steps<'_>,
        sense: impl Fn(u32, bool, &mut usize) -> Option<Sense>,
    ) -> Vec<Hit> {
        let mut found = Vec::with_capacity(text.len() / PER_HIT);
        let (mut at, mut account) = (0, Account::new(steps));
        for line in lines::with_ends(text) {
            if let Some((known, steps)) = memory.recall(line, languages) {
                found.extend(known.iter().filter_map(|hit| hit.after(at)));
                account.open += steps;
                if !account.settle() {
                    break;
                }
            } else {
                let (first, before) = (found.len(), account.all());
                if !self.add_hits((line, at), &mut found, &mut account, &sense) {
                    break;
                }
                let new = found.get(first..).unwrap_or_default();
                memory.keep((line, at), languages, new, account.all() - before);
            }
            at += line.len();
        }
        account.close();
        found
    }

    /// Adds the terms of a text that begins at an offset of a longer one. Returns whether the
    /// budget allows it.
    ///
    /// Searches only where a word may begin. A search that begins there is cheap for words
    /// that begin no term.
    fn add_hits(
        &self,
        (text, place): (&str, usize),
        found: &mut Vec<Hit>,
        account: &mut Account<'_>,
        sense: impl Fn(u32, bool, &mut usize) -> Option<Sense>,
    ) -> bool {
        let (mut at, mut begun) = (0, Begun::default());
        // A sign that begins a word after it, whatever that is.
        let mut last = b' ';
        while let Some(rest) = text.as_bytes().get(at..)
            && let Some(byte) = rest.first()
        {
            if !account.settle() {
                return false;
            }
            account.open += PER_WORD;
            if byte.is_ascii_whitespace() {
                at += 1;
                last = b' ';
                continue;
            }
            // Here, no letter of ASCII follows another one.
            let is_start = (last | byte).is_ascii() || begins_word(text, at);
            if is_start
                && let Some(hit) = self.hit((text, at), &mut begun, &sense, &mut account.open)
            {
                at = hit.end();
                found.extend(hit.after(place));
            } else {
                // Skip the rest of the word.
                let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic());
                let letters = letters.count();
                account.open += letters;
                at += letters.max(length(*byte));
            }
            let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
            last = before.copied().unwrap_or_default();
        }
        true
    }

    /// The longest term that begins here and ends at the end of a word. If the longest
    /// does not, a shorter one, perhaps of another language, may.
    fn hit(
        &self,
        (text, at): (&str, usize),
        begun: &mut Begun,
        sense: impl Fn(u32, bool, &mut usize) -> Option<Sense>,
        cost: &mut usize,
    ) -> Option<Hit> {
        begun.count = 0;
        self.find(text.as_bytes().get(at..)?, |length, term| {
            if begun.count == MOST_BEGUN {
                begun.terms.rotate_left(1);
                begun.count -= 1;
            }
            if let Some(free) = begun.terms.get_mut(begun.count) {
                *free = (length, term);
            }
            begun.count += 1;
        });
        *cost += PER_TRY;
        let terms = begun.terms.get(..begun.count).unwrap_or_default();
        for (length, term) in terms.iter().rev() {
            let end = at + length;
            let end_of_word = word_end(text, end);
            *cost += PER_TRY + 4 * (end_of_word - at);
            if let Some(sense) = sense(*term, end == end_of_word, cost) {
                return Hit::new(&(at..end_of_word), *term, sense);
            }
        }
        None
    }
}
