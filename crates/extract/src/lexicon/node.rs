//! A node of a trie. The build script writes them, and the library reads them.

/// No term, or no child.
pub(crate) const NONE: u32 = u32::MAX;
/// Marks a base that is the place of a tail.
pub(crate) const TAIL: u32 = 1 << 31;

#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub(crate) base: u32,
    /// The term that ends here or in the tail.
    pub(crate) term: u32,
}

/// A node as it is stored: the base and the term, the lowest byte first.
pub(crate) type Bytes = [[u8; 4]; 2];
