//! Finds the terms that a text begins with.

use super::node::{Bytes, NO_TERM, Node, TAIL};

/// The terms by their letters, as a trie in one table.
///
/// A node stands for the start of a term. The child of a node for a letter is in the slot
/// whose number is the sum of the letter and of the node's base, if that slot has the same
/// letter. No two nodes have the same base, so no other node's child is mistaken for it.
/// If only one term begins like this, its other letters are a tail, which is compared as a
/// whole.
pub(super) struct Trie<'t> {
    pub(super) nodes: &'t [Bytes],
    /// The number of letters of each tail, and the letters.
    pub(super) tails: &'t [u8],
}

impl Node {
    fn of(bytes: Bytes) -> Self {
        let [base, rest] = bytes.map(u32::from_le_bytes);
        let [.., letter] = rest.to_le_bytes();
        Self {
            base,
            term: rest & NO_TERM,
            letter,
        }
    }
}

impl Trie<'_> {
    /// Gives the length and the number of every term that the text begins with, shortest
    /// first. Capitals of ASCII count as small letters.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(usize, u32)) {
        let Some(root) = self.nodes.first() else {
            return;
        };
        let mut node = Node::of(*root);
        let mut at = 0;
        loop {
            if node.base & TAIL != 0 {
                let tail = self.tail(node.base);
                let tail = tail.filter(|tail| begins_with(text.get(at..), tail));
                if let Some(tail) = tail {
                    found(at + tail.len(), node.term);
                }
                return;
            }
            if node.term != NO_TERM {
                found(at, node.term);
            }
            let Some(letter) = text.get(at).map(u8::to_ascii_lowercase) else {
                return;
            };
            let Some(next) = self.nodes.get(node.base as usize + usize::from(letter)) else {
                return;
            };
            node = Node::of(*next);
            if node.letter != letter || letter == 0 {
                return;
            }
            at += 1;
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

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;

    #[test]
    fn every_term_at_the_start_of_a_text_is_found() {
        let terms = ["code", "co", "code word", "x", "код"];
        let numbered = terms.iter().zip(0..);
        let numbered = numbered.map(|(term, at)| ((*term).to_owned(), at));
        let table = Table::build(numbered.collect());
        let trie = Trie {
            nodes: &table.stored_nodes(),
            tails: &table.tails,
        };
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
