//! A cursor: a signed position in the list of one inbox.
//!
//! A sequence number alone is not enough. A restored database counts on from an older
//! number. When it reaches the reader's position again, other mail stands before that
//! position, and the reader would never see it. A counter of restores would be
//! restored as well. So a cursor also names the item at its position, and that item
//! must still be the same.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pipeline::{ArtifactId, ArtifactView, InboxId, Seq, ServerKey};
use subtle::ConstantTimeEq;

/// Version 2 of the format: this byte, the position (8 bytes, big endian), the mark of
/// the item there (8 bytes), and a tag (16 bytes) over version, inbox, position and
/// mark. The inbox itself is left out, because the path names it.
const VERSION: u8 = 2;
/// Version 1, which has no mark. Its cursors stay valid, so an upgrade costs no reader
/// its position. They are checked by position alone, and the next page that has items
/// returns a cursor of version 2.
const UNMARKED_VERSION: u8 = 1;

/// The position of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) seq: Seq,
    item: ItemMark,
}

/// The item at the position when the cursor was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemMark {
    /// The last half of its id, which is random.
    Marked([u8; 8]),
    /// None: it was deleted, or the position is before the first item. A deleted item
    /// does not come back.
    Deleted,
    /// Unknown: the cursor is of version 1.
    Unknown,
}

/// No item has this mark: the half of an id that marks are taken from begins with
/// the bits 10.
const NO_MARK: [u8; 8] = [0; 8];

impl Cursor {
    /// The position after an item.
    pub(super) fn after(view: &ArtifactView) -> Self {
        Self {
            seq: view.seq,
            item: ItemMark::Marked(mark(view.id)),
        }
    }

    /// The position after an item that was deleted.
    pub(super) fn after_deleted(seq: Seq) -> Self {
        let item = ItemMark::Deleted;
        Self { seq, item }
    }

    /// Whether the item at the position now can be the one that was there. A missing
    /// item proves nothing, because it may have been deleted since.
    pub(super) fn matches(&self, found: Option<&ArtifactView>) -> bool {
        match (self.item, found) {
            (ItemMark::Marked(known), Some(view)) => known == mark(view.id),
            (ItemMark::Deleted, Some(_)) => false,
            (ItemMark::Unknown, _) | (_, None) => true,
        }
    }

    /// Encodes the cursor for an inbox.
    pub(super) fn encode(&self, key: &ServerKey, inbox: &InboxId) -> String {
        let position = self.seq.number().to_be_bytes();
        let bytes = match self.item {
            ItemMark::Marked(mark) => signed(key, inbox, VERSION, &[&position, &mark]),
            ItemMark::Deleted => signed(key, inbox, VERSION, &[&position, &NO_MARK]),
            ItemMark::Unknown => signed(key, inbox, UNMARKED_VERSION, &[&position]),
        };
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes a cursor of this inbox; `None` for any text that
    /// [`encode()`](Self::encode) has not made for it.
    pub(super) fn decode(key: &ServerKey, inbox: &InboxId, text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (&version, rest) = bytes.split_first()?;
        let (&position, rest) = rest.split_first_chunk::<8>()?;
        let item = match version {
            VERSION => match *rest.split_first_chunk::<8>()?.0 {
                NO_MARK => ItemMark::Deleted,
                mark => ItemMark::Marked(mark),
            },
            UNMARKED_VERSION => ItemMark::Unknown,
            _ => return None,
        };
        let seq = Seq::new(i64::from_be_bytes(position));
        let cursor = Self { seq, item };
        let ours = cursor.encode(key, inbox);
        bool::from(ours.as_bytes().ct_eq(text.as_bytes())).then_some(cursor)
    }
}

fn mark(id: ArtifactId) -> [u8; 8] {
    let (_, low) = id.as_uuid().as_u64_pair();
    low.to_be_bytes()
}

/// The version, the fields and the tag over both.
fn signed(key: &ServerKey, inbox: &InboxId, version: u8, fields: &[&[u8; 8]]) -> Vec<u8> {
    let version = [version];
    let mut tagged: Vec<&[u8]> = vec![b"cursor", &version, inbox.as_str().as_bytes()];
    tagged.extend(fields.iter().map(|field| field.as_slice()));
    let tag = key.tag(&tagged);
    let mut bytes = version.to_vec();
    bytes.extend(fields.iter().copied().flatten());
    bytes.extend(tag);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn inbox(address: &str) -> InboxId {
        address.parse().unwrap()
    }

    fn cursors() -> [Cursor; 5] {
        let at = |number, item| Cursor {
            seq: Seq::new(number),
            item,
        };
        [
            at(0, ItemMark::Deleted),
            at(1, ItemMark::Marked(mark(ArtifactId::new()))),
            at(i64::MAX, ItemMark::Marked(mark(ArtifactId::new()))),
            at(3, ItemMark::Deleted),
            at(3, ItemMark::Unknown),
        ]
    }

    #[test]
    fn cursor_decodes_to_its_position_and_item() {
        let key = ServerKey::new(KEY);
        for cursor in cursors() {
            let text = cursor.encode(&key, &inbox("a@inbox.test"));
            let read = Cursor::decode(&key, &inbox("a@inbox.test"), &text);
            assert_eq!(read, Some(cursor));
            assert!(text.len() <= 44, "{text}");
        }
    }

    #[test]
    fn cursor_is_refused_for_another_inbox_or_key() {
        let key = ServerKey::new(KEY);
        for cursor in cursors() {
            let text = cursor.encode(&key, &inbox("a@inbox.test"));
            assert_eq!(Cursor::decode(&key, &inbox("b@inbox.test"), &text), None);
            let other = ServerKey::new([8; 32]);
            assert_eq!(Cursor::decode(&other, &inbox("a@inbox.test"), &text), None);
            for invalid in ["", "3", "AAAA", "' OR 1=1 --", &format!("{text}AAAA")] {
                let read = Cursor::decode(&key, &inbox("a@inbox.test"), invalid);
                assert_eq!(read, None, "{invalid:?}");
            }
        }
    }

    #[test]
    fn cursor_with_a_flipped_bit_is_refused() {
        let key = ServerKey::new(KEY);
        for cursor in cursors() {
            let text = cursor.encode(&key, &inbox("a@inbox.test"));
            let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            for bit in 0..bytes.len() * 8 {
                let mut forged = bytes.clone();
                forged[bit / 8] ^= 1 << (bit % 8);
                let forged = URL_SAFE_NO_PAD.encode(forged);
                let read = Cursor::decode(&key, &inbox("a@inbox.test"), &forged);
                assert_eq!(read, None);
            }
        }
    }

    #[test]
    fn cursor_of_version_1_is_still_valid() {
        // The format of version 1: version, position, tag.
        let (key, inbox) = (ServerKey::new(KEY), inbox("a@inbox.test"));
        let position = 3_i64.to_be_bytes();
        let tag = key.tag(&[b"cursor", &[1], inbox.as_str().as_bytes(), &position]);
        let text = URL_SAFE_NO_PAD.encode([&[1][..], &position, &tag].concat());
        let cursor = Cursor::decode(&key, &inbox, &text).unwrap();
        assert_eq!(cursor.seq, Seq::new(3));
        assert!(cursor.matches(None));
    }
}
