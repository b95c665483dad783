//! A node of a trie. The build script writes them, and the library reads them.

/// Marks a base that is the place of a tail.
pub(crate) const TAIL: u32 = 1 << 31;
/// No term. Numbers of terms are smaller.
pub(crate) const NO_TERM: u32 = (1 << 24) - 1;

#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub(crate) base: u32,
    /// The term that ends here or in the tail.
    pub(crate) term: u32,
    /// The last letter of what the node stands for; zero for an empty slot.
    pub(crate) letter: u8,
}

/// A node as it is stored: the base; three bytes of the term and the letter. They are side by
/// side, so one look into memory finds all of them.
pub(crate) type Bytes = [[u8; 4]; 2];
