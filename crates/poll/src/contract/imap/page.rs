//! What of a mailbox is read next: the cursor, and one page behind it.

use pipeline::Timestamp;
use serde::{Deserialize, Serialize};

use crate::pull::{Item, Page};

/// Mails of one page.
const PAGE: usize = 50;
/// Bytes of one page, unless a single mail is larger.
const PAGE_BYTES: u64 = 4 * 1024 * 1024;

/// The cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Place {
    pub(super) validity: u32,
    pub(super) next: u32,
}

impl Place {
    /// Where a cursor leads in a mailbox of this validity: to its beginning, if
    /// that is not the one the cursor was had from.
    pub(super) fn resumed(cursor: &str, validity: u32) -> Self {
        let known: Self = serde_json::from_str(cursor).unwrap_or_default();
        let is_same = known.validity == validity;
        let next = if is_same { known.next.max(1) } else { 1 };
        Self { validity, next }
    }
}

/// A mail that is there: its UID, size and time.
pub(super) type Listed = (u32, u64, Option<Timestamp>);

impl Page {
    pub(super) fn at(place: Place, items: Vec<Item>, has_more: bool) -> Self {
        Self {
            items,
            cursor: serde_json::to_string(&place).unwrap_or_default(),
            has_more,
        }
    }
}

/// The UIDs of one page, and whether there are more.
pub(super) fn first_of(found: impl IntoIterator<Item = u32>, next: u32) -> (Vec<u32>, bool) {
    let mut uids: Vec<u32> = found.into_iter().filter(|uid| *uid >= next).collect();
    uids.sort_unstable();
    let left = uids.len();
    uids.truncate(PAGE);
    let is_full = uids.len() < left;
    (uids, is_full)
}

/// Leaves as many mails as may be held in memory at once, and one in any case;
/// tells whether some had to go.
pub(super) fn shorten(listed: &mut Vec<Listed>, message_limit: u64) -> bool {
    let mut bytes = 0;
    let mut kept = 0;
    for (_, size, _) in listed.iter() {
        bytes += if *size > message_limit { 0 } else { *size };
        if bytes > PAGE_BYTES && kept > 0 {
            break;
        }
        kept += 1;
    }
    let is_short = kept < listed.len();
    listed.truncate(kept);
    is_short
}

/// A mail of a page, under an id that is void when its UID is.
pub(super) fn item(validity: u32, (uid, size, arrived_at): Listed) -> Item {
    Item {
        id: format!("{validity} {uid}"),
        arrived_at,
        note: serde_json::json!([uid, size]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(validity: u32, next: u32) -> String {
        let place = Place { validity, next };
        Page::at(place, Vec::new(), false).cursor
    }

    #[test]
    fn a_mailbox_of_the_same_validity_is_read_on_and_another_one_from_its_beginning() {
        let resumed = |cursor: &str| Place::resumed(cursor, 7).next;
        assert_eq!(resumed(&cursor(7, 120)), 120);
        assert_eq!(resumed(&cursor(8, 120)), 1, "its UIDs are void");
        assert_eq!(resumed(&cursor(7, 0)), 1, "there is no UID 0");
        assert_eq!(resumed(""), 1);
        assert_eq!(resumed("not a cursor"), 1);
        assert_eq!(Place::resumed(&cursor(8, 120), 7).validity, 7);
    }

    #[test]
    fn the_same_uid_under_another_validity_is_another_mail() {
        assert_ne!(item(7, (1, 10, None)).id, item(8, (1, 10, None)).id);
    }

    /// `n:*` names the last mail even if that is below `n`.
    #[test]
    fn what_lies_below_the_cursor_is_left_out() {
        assert_eq!(first_of([41], 42), (Vec::new(), false));
        assert_eq!(first_of([44, 41, 42], 42), (vec![42, 44], false));
    }

    #[test]
    fn a_page_is_so_many_mails_the_oldest_first() {
        let (uids, is_full) = first_of((1..=500).rev(), 1);
        assert!(is_full);
        assert_eq!(
            (uids.len(), uids.first(), uids.last()),
            (50, Some(&1), Some(&50))
        );
        assert!(!first_of(1..=50, 1).1);
    }

    #[test]
    fn a_page_is_so_many_bytes_and_one_mail_in_any_case() {
        let sizes = |sizes: &[u64]| -> Vec<Listed> {
            let uids = 1u32..;
            uids.zip(sizes)
                .map(|(uid, size)| (uid, *size, None))
                .collect()
        };
        let kept = |mut listed: Vec<Listed>| (shorten(&mut listed, 9 * PAGE_BYTES), listed.len());
        assert_eq!(kept(sizes(&[10, 10, 10])), (false, 3));
        assert_eq!(kept(sizes(&[PAGE_BYTES, 1, 1])), (true, 1));
        assert_eq!(kept(sizes(&[3 * PAGE_BYTES, 1])), (true, 1));
        assert_eq!(kept(sizes(&[1, 3 * PAGE_BYTES])), (true, 1));
        let too_large = 10 * PAGE_BYTES;
        assert_eq!(
            kept(sizes(&[too_large, 1, too_large, 1])),
            (false, 4),
            "they are not read"
        );
    }
}
