//! A cursor: a place in one inbox's feed that only we can have given out.
//!
//! A place alone is not enough. A database that was put back counts on from an
//! older number, and when it has come as far as the reader again, what stands
//! before the reader's place is other mail, which the reader would never see. A
//! number for the state of the database would be put back with it, so a cursor
//! names the item that it stands behind, and that item must still be the one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pipeline::{ArtifactId, ArtifactView, InboxId, Seq, ServerKey};
use subtle::ConstantTimeEq;

/// The layout of the bytes: this number, the position (8 bytes, big endian), the
/// mark of the item there (8 bytes), a tag (16 bytes) over the layout, the inbox,
/// the position and the mark. The inbox itself is not in it, for the path names
/// it already.
const LAYOUT: u8 = 2;
/// The layout before that, which has no mark. Its cursors are still good, or an
/// upgrade would cost every reader its place; they are judged by their position
/// alone, and the first page that holds anything gives one of the new layout.
const UNMARKED: u8 = 1;

/// Where a reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) seq: Seq,
    item: Item,
}

/// What stood at the place when the cursor was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    /// This one, by the last half of its id, which is random.
    Marked([u8; 8]),
    /// None: it was discarded, or it is the place before the first. What is gone
    /// does not come back.
    Gone,
    /// Nobody knows; the cursor is of the old layout.
    Unknown,
}

/// No item has this mark: the half of an id that marks are taken from begins
/// with the bits 10.
const NONE: [u8; 8] = [0; 8];

impl Cursor {
    /// Behind an item.
    pub(crate) fn behind(view: &ArtifactView) -> Self {
        Self {
            seq: view.seq,
            item: Item::Marked(mark(view.id)),
        }
    }

    /// Behind a place whose item is gone.
    pub(crate) fn behind_gone(seq: Seq) -> Self {
        let item = Item::Gone;
        Self { seq, item }
    }

    /// Whether what is at the place now can be what was there. An item that is
    /// no longer there says nothing: it may have been discarded since.
    pub(crate) fn fits(&self, found: Option<&ArtifactView>) -> bool {
        match (self.item, found) {
            (Item::Marked(known), Some(view)) => known == mark(view.id),
            (Item::Gone, Some(_)) => false,
            (Item::Unknown, _) | (_, None) => true,
        }
    }

    /// The text that stands for it.
    pub(crate) fn write(&self, key: &ServerKey, inbox: &InboxId) -> String {
        let position = self.seq.number().to_be_bytes();
        let bytes = match self.item {
            Item::Marked(mark) => sealed(key, inbox, LAYOUT, &[&position, &mark]),
            Item::Gone => sealed(key, inbox, LAYOUT, &[&position, &NONE]),
            Item::Unknown => sealed(key, inbox, UNMARKED, &[&position]),
        };
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor of this inbox that a text stands for; nothing for any text that
    /// [`write()`](Self::write) has not made for it.
    pub(crate) fn read(key: &ServerKey, inbox: &InboxId, text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (&layout, rest) = bytes.split_first()?;
        let (&position, rest) = rest.split_first_chunk::<8>()?;
        let item = match layout {
            LAYOUT => match *rest.split_first_chunk::<8>()?.0 {
                NONE => Item::Gone,
                mark => Item::Marked(mark),
            },
            UNMARKED => Item::Unknown,
            _ => return None,
        };
        let seq = Seq::new(i64::from_be_bytes(position));
        let cursor = Self { seq, item };
        let ours = cursor.write(key, inbox);
        bool::from(ours.as_bytes().ct_eq(text.as_bytes())).then_some(cursor)
    }
}

fn mark(id: ArtifactId) -> [u8; 8] {
    let (_, low) = id.as_uuid().as_u64_pair();
    low.to_be_bytes()
}

/// The layout, the fields and the tag over both.
fn sealed(key: &ServerKey, inbox: &InboxId, layout: u8, fields: &[&[u8; 8]]) -> Vec<u8> {
    let layout = [layout];
    let mut told: Vec<&[u8]> = vec![b"cursor", &layout, inbox.as_str().as_bytes()];
    told.extend(fields.iter().map(|field| field.as_slice()));
    let tag = key.tag(&told);
    let mut bytes = layout.to_vec();
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

    fn places() -> [Cursor; 5] {
        let at = |number, item| Cursor {
            seq: Seq::new(number),
            item,
        };
        [
            at(0, Item::Gone),
            at(1, Item::Marked(mark(ArtifactId::new()))),
            at(i64::MAX, Item::Marked(mark(ArtifactId::new()))),
            at(3, Item::Gone),
            at(3, Item::Unknown),
        ]
    }

    #[test]
    fn a_cursor_reads_back_its_position_and_its_item() {
        let key = ServerKey::new(KEY);
        for cursor in places() {
            let text = cursor.write(&key, &inbox("a@inbox.test"));
            let read = Cursor::read(&key, &inbox("a@inbox.test"), &text);
            assert_eq!(read, Some(cursor));
            assert!(text.len() <= 44, "{text}");
        }
    }

    #[test]
    fn no_other_inbox_key_or_text_reads() {
        let key = ServerKey::new(KEY);
        for cursor in places() {
            let text = cursor.write(&key, &inbox("a@inbox.test"));
            assert_eq!(Cursor::read(&key, &inbox("b@inbox.test"), &text), None);
            let other = ServerKey::new([8; 32]);
            assert_eq!(Cursor::read(&other, &inbox("a@inbox.test"), &text), None);
            for odd in ["", "3", "AAAA", "' OR 1=1 --", &format!("{text}AAAA")] {
                let read = Cursor::read(&key, &inbox("a@inbox.test"), odd);
                assert_eq!(read, None, "{odd:?}");
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let key = ServerKey::new(KEY);
        for cursor in places() {
            let text = cursor.write(&key, &inbox("a@inbox.test"));
            let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            for bit in 0..bytes.len() * 8 {
                let mut forged = bytes.clone();
                forged[bit / 8] ^= 1 << (bit % 8);
                let forged = URL_SAFE_NO_PAD.encode(forged);
                let read = Cursor::read(&key, &inbox("a@inbox.test"), &forged);
                assert_eq!(read, None);
            }
        }
    }

    #[test]
    fn a_cursor_of_the_layout_before_is_still_good() {
        // As the layout without a mark was written: number, position, tag.
        let (key, inbox) = (ServerKey::new(KEY), inbox("a@inbox.test"));
        let position = 3_i64.to_be_bytes();
        let tag = key.tag(&[b"cursor", &[1], inbox.as_str().as_bytes(), &position]);
        let text = URL_SAFE_NO_PAD.encode([&[1][..], &position, &tag].concat());
        let cursor = Cursor::read(&key, &inbox, &text).unwrap();
        assert_eq!(cursor.seq, Seq::new(3));
        assert!(cursor.fits(None));
    }
}
