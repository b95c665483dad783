//! Finds the terms that a text begins with.

/// No term, or no child.
const NONE: u32 = u32::MAX;
/// Marks a base that is the place of a tail.
const TAIL: u32 = 1 << 31;

/// The terms by their letters, as a trie in one table.
///
/// A node stands for the start of a term. The child of a node for a letter is in the slot
/// whose number is the sum of the letter and of the node's base, if that slot has the same
/// letter. No two nodes have the same base, so no other node's child is mistaken for it.
/// If only one term begins like this, its other letters are a tail, which is compared as a
/// whole.
pub(super) struct Trie {
    /// The last letter of the node in each slot; zero in an empty slot.
    letters: Vec<u8>,
    nodes: Vec<Node>,
    /// The number of letters of each tail, and the letters.
    tails: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Node {
    base: u32,
    /// The term that ends here or in the tail.
    term: u32,
}

const EMPTY: Node = Node {
    base: NONE,
    term: NONE,
};

/// The terms that begin with the same letters, and the number of these letters.
#[derive(Clone, Copy)]
struct Shared<'p> {
    terms: &'p [(String, u32)],
    length: usize,
}

impl Trie {
    /// Takes each term, in small letters, with its number.
    pub(super) fn build(mut terms: Vec<(String, u32)>) -> Self {
        terms.sort_unstable();
        let mut slots = Slots::default();
        let all = Shared {
            terms: &terms,
            length: 0,
        };
        // The root is in the first slot. Nodes near it have many children, so their
        // children find room first.
        let mut open = vec![(0, all)];
        let (mut next, mut children) = (0, Vec::new());
        while let Some((slot, shared)) = open.get(next).copied() {
            next += 1;
            if let Some((tail, term)) = shared.only() {
                let base = slots.add_tail(tail);
                slots.fill(slot, Node { base, term });
                continue;
            }
            let (term, longer) = shared.split();
            children.extend(longer);
            let base = slots.base_for(&children);
            slots.fill(slot, Node { base, term });
            for (letter, child) in children.drain(..) {
                let slot = base as usize + usize::from(letter);
                slots.take(slot, letter);
                open.push((slot, child));
            }
        }
        slots.trie
    }

    /// Gives the length and the number of every term that the text begins with, shortest
    /// first. Capitals of ASCII count as small letters.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(usize, u32)) {
        let mut slot = 0;
        for at in 0..=text.len() {
            let Some(node) = self.nodes.get(slot) else {
                return;
            };
            if node.base & TAIL != 0 {
                let tail = self.tail(node.base);
                let tail = tail.filter(|tail| begins_with(text.get(at..), tail));
                if let Some(tail) = tail {
                    found(at + tail.len(), node.term);
                }
                return;
            }
            if node.term != NONE {
                found(at, node.term);
            }
            let letter = text.get(at).map_or(0, u8::to_ascii_lowercase);
            slot = node.base as usize + usize::from(letter);
            if letter == 0 || self.letters.get(slot) != Some(&letter) {
                return;
            }
        }
    }

    fn tail(&self, base: u32) -> Option<&[u8]> {
        let place = (base & !TAIL) as usize;
        let (length, letters) = self.tails.get(place..)?.split_first()?;
        letters.get(..usize::from(*length))
    }
}

fn begins_with(text: Option<&[u8]>, tail: &[u8]) -> bool {
    let start = text.and_then(|text| text.get(..tail.len()));
    start.is_some_and(|start| start.eq_ignore_ascii_case(tail))
}

/// The table while it is filled.
struct Slots {
    trie: Trie,
    /// Whether a node has this base.
    bases: Vec<bool>,
    /// Where to look for room, by the number of children.
    from: [usize; 9],
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            trie: Trie {
                letters: vec![0],
                nodes: vec![EMPTY],
                tails: Vec::new(),
            },
            bases: Vec::new(),
            from: [1; 9],
        }
    }
}

impl Slots {
    /// A base with an empty slot for each of the children.
    fn base_for(&mut self, children: &[(u8, Shared<'_>)]) -> u32 {
        let Some((first, _)) = children.first() else {
            return NONE;
        };
        let first = usize::from(*first);
        let is_empty = |slot: usize| self.trie.letters.get(slot).is_none_or(|other| *other == 0);
        let has_room = |base: usize| {
            let mut letters = children.iter().map(|(letter, _)| usize::from(*letter));
            self.bases.get(base) != Some(&true) && letters.all(|letter| is_empty(base + letter))
        };
        let kind = children.len().min(self.from.len() - 1);
        let from = self.from.get(kind).copied().unwrap_or(1).max(first + 1);
        // Behind the last slot there is room for every letter.
        let end = self.trie.letters.len() + first;
        let mut bases = (from..=end.max(from)).map(|slot| slot - first);
        let base = bases.find(|base| has_room(*base));
        let base = base.unwrap_or_default();
        if let Some(from) = self.from.get_mut(kind) {
            *from = (*from).max(base + first);
        }
        if self.bases.len() <= base {
            self.bases.resize(base + 1, false);
        }
        if let Some(used) = self.bases.get_mut(base) {
            *used = true;
        }
        u32::try_from(base).unwrap_or(NONE)
    }

    /// Returns the base of a node with this tail.
    fn add_tail(&mut self, tail: &[u8]) -> u32 {
        let tails = &mut self.trie.tails;
        let place = u32::try_from(tails.len()).unwrap_or(NONE);
        tails.extend(u8::try_from(tail.len()));
        tails.extend_from_slice(tail);
        TAIL | place
    }

    fn take(&mut self, slot: usize, letter: u8) {
        if self.trie.letters.len() <= slot {
            self.trie.letters.resize(slot + 1, 0);
            self.trie.nodes.resize(slot + 1, EMPTY);
        }
        if let Some(place) = self.trie.letters.get_mut(slot) {
            *place = letter;
        }
    }

    fn fill(&mut self, slot: usize, node: Node) {
        if let Some(place) = self.trie.nodes.get_mut(slot) {
            *place = node;
        }
    }
}

impl<'p> Shared<'p> {
    /// If one term is left: its other letters, and its number.
    fn only(self) -> Option<(&'p [u8], u32)> {
        let [(term, number)] = self.terms else {
            return None;
        };
        let tail = term.as_bytes().get(self.length..)?;
        u8::try_from(tail.len()).is_ok().then_some((tail, *number))
    }

    /// The number of the term that has no more letters, and the longer terms by their next
    /// letter.
    fn split(self) -> (u32, impl Iterator<Item = (u8, Self)>) {
        let own = self.terms.first();
        let own = own.filter(|(term, _)| term.len() == self.length);
        let longer = self.terms.get(usize::from(own.is_some())..);
        let next = move |term: &String| term.as_bytes().get(self.length).copied();
        let groups = longer
            .unwrap_or_default()
            .chunk_by(move |(one, _), (other, _)| next(one) == next(other));
        let groups = groups.filter_map(move |terms| {
            let (first, _) = terms.first()?;
            let length = self.length + 1;
            Some((next(first)?, Self { terms, length }))
        });
        (own.map_or(NONE, |(_, number)| *number), groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_at_the_start_of_a_text_is_found() {
        let terms = ["code", "co", "code word", "x", "код"];
        let numbered = terms.iter().zip(0..);
        let trie = Trie::build(
            numbered
                .map(|(term, at)| ((*term).to_owned(), at))
                .collect(),
        );
        let find = |text: &str| {
            let mut found = Vec::new();
            trie.find(text.as_bytes(), |length, term| found.push((length, term)));
            found
        };
        assert_eq!(find("Code words"), [(2, 1), (4, 0), (9, 2)]);
        assert_eq!(find("cod"), [(2, 1)]);
        assert_eq!(find("код"), [(6, 4)]);
        assert_eq!(find("X"), [(1, 3)]);
        assert!(find("a code").is_empty() && find("").is_empty());
    }
}
