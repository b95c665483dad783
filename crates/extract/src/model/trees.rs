//! Trees over whole numbers.
//!
//! A tree asks at each node whether a fact is more than a number, and gives the number of
//! the leaf that it reaches. The sum over all trees is a score. `train/train.py` makes them.

/// The first score, and then the trees.
const TREES: &[u8] = include_bytes!("trees.bin");
/// How many nodes are between the root and a leaf.
const LEVELS: usize = 4;
const NODES: usize = (1 << LEVELS) - 1;
/// The bytes of a tree: a fact and a number for each node, and a number for each leaf.
const TREE: usize = 4 * NODES + 2 * (NODES + 1);
/// Scores of trees are finer than those of weights, by this factor.
const FINER: i32 = 16;

/// The log odds that the trees give to these facts, in parts of [`super::UNIT`].
pub(crate) fn value_odds(facts: &[i32]) -> i32 {
    let Some((start, trees)) = TREES.split_first_chunk::<4>() else {
        return 0;
    };
    let (trees, _) = trees.as_chunks::<TREE>();
    let leaves = trees.iter().map(|tree| leaf(tree, facts));
    (i32::from_le_bytes(*start) + leaves.sum::<i32>()) / FINER
}

/// The number of the leaf that the facts reach.
fn leaf(tree: &[u8; TREE], facts: &[i32]) -> i32 {
    let (numbers, _) = tree.as_chunks::<2>();
    let number = |at: usize| {
        let bytes = numbers.get(at).copied().unwrap_or_default();
        i16::from_le_bytes(bytes)
    };
    let mut node = 0;
    for _ in 0..LEVELS {
        let fact = usize::try_from(number(2 * node)).unwrap_or_default();
        let fact = facts.get(fact).copied().unwrap_or_default();
        node = 2 * node + 1 + usize::from(fact > i32::from(number(2 * node + 1)));
    }
    i32::from(number(2 * NODES + node - NODES))
}
