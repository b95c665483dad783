//! Arranges terms as a trie. Only the build script and tests do this.

use super::node::{Bytes, NO_TERM, Node, TAIL};

/// The two parts of a trie; `trie.rs` says what they mean.
pub(crate) struct Table {
    pub(crate) nodes: Vec<Node>,
    pub(crate) tails: Vec<u8>,
}

/// The base of an empty slot. A search never reads it, because the letter of such a slot is
/// zero.
const NONE: u32 = u32::MAX;

const EMPTY: Node = Node {
    base: NONE,
    term: NO_TERM,
    letter: 0,
};

/// The terms that begin with the same letters, and the number of these letters.
#[derive(Clone, Copy)]
struct Shared<'p> {
    terms: &'p [(String, u32)],
    length: usize,
}

impl Table {
    /// Takes each term, in small letters, with its number.
    pub(crate) fn build(mut terms: Vec<(String, u32)>) -> Self {
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
                slots.fill(slot, base, term);
                continue;
            }
            let (term, longer) = shared.split();
            children.extend(longer);
            let base = slots.base_for(&children);
            slots.fill(slot, base, term);
            for (letter, child) in children.drain(..) {
                let slot = base as usize + usize::from(letter);
                slots.take(slot, letter);
                open.push((slot, child));
            }
        }
        slots.table
    }

    /// The nodes as they are stored.
    pub(crate) fn stored_nodes(&self) -> Vec<Bytes> {
        let stored = |node: &Node| {
            let rest = node.term | u32::from(node.letter) << 24;
            [node.base, rest].map(u32::to_le_bytes)
        };
        self.nodes.iter().map(stored).collect()
    }
}

/// The table while it is filled.
struct Slots {
    table: Table,
    /// Whether a node has this base.
    bases: Vec<bool>,
    /// Where to look for room, by the number of children.
    from: [usize; 9],
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            table: Table {
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
        let nodes = &self.table.nodes;
        let is_empty = |slot: usize| nodes.get(slot).is_none_or(|node| node.letter == 0);
        let has_room = |base: usize| {
            let mut letters = children.iter().map(|(letter, _)| usize::from(*letter));
            self.bases.get(base) != Some(&true) && letters.all(|letter| is_empty(base + letter))
        };
        let kind = children.len().min(self.from.len() - 1);
        let from = self.from.get(kind).copied().unwrap_or(1).max(first + 1);
        // Behind the last slot there is room for every letter.
        let end = nodes.len() + first;
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
        let tails = &mut self.table.tails;
        let place = u32::try_from(tails.len()).unwrap_or(NONE);
        tails.extend(u8::try_from(tail.len()));
        tails.extend_from_slice(tail);
        TAIL | place
    }

    fn take(&mut self, slot: usize, letter: u8) {
        let nodes = &mut self.table.nodes;
        if nodes.len() <= slot {
            nodes.resize(slot + 1, EMPTY);
        }
        if let Some(node) = nodes.get_mut(slot) {
            node.letter = letter;
        }
    }

    fn fill(&mut self, slot: usize, base: u32, term: u32) {
        if let Some(node) = self.table.nodes.get_mut(slot) {
            (node.base, node.term) = (base, term);
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
        (own.map_or(NO_TERM, |(_, number)| *number), groups)
    }
}
