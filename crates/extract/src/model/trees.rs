//! Trees over whole numbers.
//!
//! A tree asks at each node whether a fact is more than a number, and gives the number of
//! the leaf that it reaches. The sum over all trees is a score. `train/train.py` makes them.

/// The first score, and then the trees. `LEVELS` nodes lead from the root to a leaf.
pub(crate) struct Trees<const LEVELS: usize>(&'static [u8]);

/// For the values of codes.
pub(crate) const VALUES: Trees<6> = Trees(include_bytes!("trees.bin"));
/// For the targets of links.
pub(crate) const TARGETS: Trees<4> = Trees(include_bytes!("link_trees.bin"));

/// Scores of trees are finer than those of weights, by this factor.
const FINER: i32 = 16;

/// No more facts are asked for. A power of two, so that no place of a fact has to be checked.
const MOST_FACTS: usize = 64;

impl<const LEVELS: usize> Trees<LEVELS> {
    /// How many nodes a tree has.
    const NODES: usize = (1 << LEVELS) - 1;

    /// The log odds that the trees give to these facts, in parts of [`super::UNIT`].
    pub(crate) fn odds(&self, facts: &[i32]) -> i32 {
        let Some((start, trees)) = self.0.split_first_chunk::<4>() else {
            return 0;
        };
        let mut all = [0; MOST_FACTS];
        for (place, fact) in all.iter_mut().zip(facts) {
            *place = *fact;
        }
        // A fact and a number for each node, and a number for each leaf.
        let trees = trees.chunks_exact(4 * Self::NODES + 2 * (Self::NODES + 1));
        let leaves = trees.map(|tree| {
            let (tree, leaves) = tree.split_at(4 * Self::NODES);
            let leaf = Self::leaf(tree.as_chunks().0, &all);
            let (leaves, _) = leaves.as_chunks::<2>();
            let leaf = leaves.get(leaf).copied().unwrap_or_default();
            i32::from(i16::from_le_bytes(leaf))
        });
        (i32::from_le_bytes(*start) + leaves.sum::<i32>()) / FINER
    }

    /// The number of the leaf that the facts reach.
    fn leaf(tree: &[[u8; 4]], facts: &[i32; MOST_FACTS]) -> usize {
        let mut node = 0;
        for _ in 0..LEVELS {
            let [fact, high, number @ ..] = tree.get(node).copied().unwrap_or_default();
            let fact = usize::from(u16::from_le_bytes([fact, high])) % MOST_FACTS;
            let fact = facts.get(fact).copied().unwrap_or_default();
            node = 2 * node + 1 + usize::from(fact > i32::from(i16::from_le_bytes(number)));
        }
        node - Self::NODES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_whole_trees_that_ask_for_existing_facts() {
        check(&VALUES, 44);
        check(&TARGETS, 55);
    }

    fn check<const LEVELS: usize>(trees: &Trees<LEVELS>, facts: i16) {
        let nodes = Trees::<LEVELS>::NODES;
        let (numbers, rest) = trees.0.get(4..).unwrap().as_chunks::<2>();
        let all = numbers.chunks_exact(3 * nodes + 1);
        assert!(rest.is_empty() && all.remainder().is_empty());
        assert!(usize::try_from(facts).unwrap() <= MOST_FACTS);
        for tree in all {
            let asked = tree.iter().take(2 * nodes).step_by(2);
            let mut asked = asked.map(|number| i16::from_le_bytes(*number));
            assert!(asked.all(|fact| (0..facts).contains(&fact)));
        }
    }
}
