//! The cursor of a mailbox, and the next page after it.

use async_imap::types::Fetch;
use pipeline::Timestamp;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::client::{ListedMail, Page};

/// The most mails of one page.
pub(super) const PAGE: usize = 50;
/// The most bytes of one page, unless a single mail is larger.
const PAGE_BYTES: u64 = 4 * 1024 * 1024;

/// The position in a mailbox; it is the cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    pub(super) validity: u32,
    pub(super) next: u32,
    /// Mail that arrived before this is not read; milliseconds. All mail is if `None`.
    pub(super) since: Option<i64>,
}

impl Position {
    /// The position of a cursor in a mailbox of this validity. If the validity has
    /// changed, it is the beginning of the mailbox.
    /// The first time, mail is read from `since` on.
    pub(super) fn resumed(cursor: &str, validity: u32, since: Option<Timestamp>) -> Self {
        let known: Option<Self> = serde_json::from_str(cursor).ok();
        let Some(known) = known else {
            let since = since.map(Timestamp::as_millis);
            return Self {
                validity,
                next: 1,
                since,
            };
        };
        let is_same = known.validity == validity;
        let next = if is_same { known.next.max(1) } else { 1 };
        Self {
            validity,
            next,
            since: known.since,
        }
    }

    /// The search for the mails after this position. At the beginning of a mailbox the
    /// server leaves out mail of earlier days; its days may begin a day before ours.
    pub(super) fn query(&self) -> String {
        let mails = format!("UID {}:*", self.next);
        match self.since.filter(|_| self.next == 1).and_then(day_before) {
            Some(day) => format!("{mails} SINCE {day}"),
            None => mails,
        }
    }

    /// Whether a mail that arrived at this moment is read.
    pub(super) fn includes(&self, arrived_at: Option<Timestamp>) -> bool {
        match (self.since, arrived_at) {
            (Some(since), Some(at)) => at.as_millis() >= since,
            _ => true,
        }
    }
}

/// The day before a moment, as IMAP writes it: `14-Nov-2026`.
fn day_before(millis: i64) -> Option<String> {
    let moment = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)).ok()?;
    let day = moment.date().previous_day()?;
    let month = day.month().to_string();
    let month = month.get(..3)?;
    Some(format!("{}-{month}-{}", day.day(), day.year()))
}

/// What a server says about a mailbox.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// How many mails it has.
    pub(super) mails: u32,
    /// The UID of the next mail, if the server states it.
    pub(super) uid_next: Option<u32>,
}

/// A mail of the mailbox: its UID, size and time.
pub(super) type Listed = (u32, u64, Option<Timestamp>);

/// The mails of an answer, by UID.
pub(super) fn listed_mails(answers: &[Fetch]) -> Vec<Listed> {
    let mut listed: Vec<Listed> = answers
        .iter()
        .filter_map(|answer| {
            let at = answer.internal_date().map(|at| at.timestamp_millis());
            let size = u64::from(answer.size.unwrap_or(0));
            Some((answer.uid?, size, at.map(Timestamp::from_millis)))
        })
        .collect();
    listed.sort_unstable_by_key(|(uid, ..)| *uid);
    listed.dedup_by_key(|(uid, ..)| *uid);
    listed
}

impl Page {
    pub(super) fn at(position: Position, items: Vec<ListedMail>, has_more: bool) -> Self {
        Self {
            items,
            cursor: serde_json::to_string(&position).unwrap_or_default(),
            has_more,
        }
    }
}

/// The UIDs from `next` on, in order.
pub(super) fn in_order(found: impl IntoIterator<Item = u32>, next: u32) -> Vec<u32> {
    let mut uids: Vec<u32> = found.into_iter().filter(|uid| *uid >= next).collect();
    uids.sort_unstable();
    uids
}

/// The UIDs of one page, and whether there are more.
pub(super) fn first_of(uids: &[u32]) -> (Vec<u32>, bool) {
    let page: Vec<u32> = uids.iter().take(PAGE).copied().collect();
    let has_more = page.len() < uids.len();
    (page, has_more)
}

/// The newest mails after a position, newest first, at most as many as a page has. `listed`
/// is in the order of the UIDs. Empty if all of them fit into the next page, which is read
/// anyway.
pub(super) fn newest_of(listed: Vec<Listed>, position: Position) -> Vec<Listed> {
    let is_after =
        |(uid, _, arrived_at): &Listed| *uid >= position.next && position.includes(*arrived_at);
    let after: Vec<Listed> = listed.into_iter().filter(is_after).collect();
    if after.len() <= PAGE {
        return Vec::new();
    }
    after.into_iter().rev().take(PAGE).collect()
}

/// Keeps as many mails as may be in memory at once, and at least one. Returns whether
/// some were removed.
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

/// A mail of a page. Its id contains UIDVALIDITY, because a UID is valid only with it.
pub(super) fn item(prefix: &str, validity: u32, (uid, size, arrived_at): Listed) -> ListedMail {
    ListedMail {
        id: format!("{prefix}{validity} {uid}"),
        arrived_at,
        note: serde_json::json!([uid, size]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(validity: u32, next: u32) -> String {
        let position = Position {
            validity,
            next,
            since: Some(5_000),
        };
        Page::at(position, Vec::new(), false).cursor
    }

    #[test]
    fn mailbox_of_another_validity_is_read_from_its_beginning() {
        let resumed = |cursor: &str| Position::resumed(cursor, 7, None).next;
        assert_eq!(resumed(&cursor(7, 120)), 120);
        assert_eq!(resumed(&cursor(8, 120)), 1, "its UIDs are void");
        assert_eq!(resumed(&cursor(7, 0)), 1, "there is no UID 0");
        assert_eq!(resumed(""), 1);
        assert_eq!(resumed("not a cursor"), 1);
        assert_eq!(Position::resumed(&cursor(8, 120), 7, None).validity, 7);
    }

    #[test]
    fn same_uid_with_another_validity_is_another_mail() {
        let id = |prefix: &str, validity| item(prefix, validity, (1, 10, None)).id;
        assert_ne!(id("", 7), id("", 8));
        assert_ne!(id("INBOX ", 7), id("Junk ", 7), "of another folder");
    }

    #[test]
    fn first_cursor_reads_from_since_and_a_later_one_keeps_its_own() {
        let now = Timestamp::from_millis(1_763_164_800_000);
        let first = Position::resumed("", 7, Some(now));
        assert_eq!((first.next, first.since), (1, Some(now.as_millis())));
        assert_eq!(first.query(), "UID 1:* SINCE 14-Nov-2025");
        let all = Position::resumed("", 7, None);
        assert_eq!(all.query(), "UID 1:*");
        let later = Position::resumed(&cursor(8, 120), 7, Some(now));
        assert_eq!((later.next, later.since), (1, Some(5_000)));
        assert_eq!(
            Position::resumed(&cursor(7, 120), 7, None).query(),
            "UID 120:*"
        );
    }

    #[test]
    fn mail_that_arrived_before_since_is_left_out() {
        let position = Position::resumed(&cursor(7, 1), 7, None);
        let at = |millis| Some(Timestamp::from_millis(millis));
        assert!(!position.includes(at(4_999)));
        assert!(position.includes(at(5_000)));
        assert!(position.includes(None), "a mail without a time is read");
    }

    /// `n:*` includes the last mail even if its UID is below `n`.
    #[test]
    fn uids_below_the_cursor_are_left_out() {
        assert!(in_order([41], 42).is_empty());
        assert_eq!(in_order([44, 41, 42], 42), [42, 44]);
    }

    #[test]
    fn page_has_at_most_50_mails_oldest_first() {
        let (uids, is_full) = first_of(&in_order((1..=500).rev(), 1));
        assert!(is_full);
        assert_eq!(
            (uids.len(), uids.first(), uids.last()),
            (50, Some(&1), Some(&50))
        );
        assert!(!first_of(&in_order(1..=50, 1)).1);
    }

    #[test]
    fn newest_mails_come_first_and_only_if_the_next_page_lacks_them() {
        let listed = |uids: std::ops::RangeInclusive<u32>| uids.map(|uid| (uid, 1, None));
        let position = |next| Position {
            validity: 7,
            next,
            since: None,
        };
        let newest = newest_of(listed(1..=200).collect(), position(100));
        let uids: Vec<u32> = newest.iter().map(|(uid, ..)| *uid).collect();
        assert_eq!(uids, (151..=200).rev().collect::<Vec<_>>());
        assert!(newest_of(listed(1..=200).collect(), position(151)).is_empty());
    }

    #[test]
    fn page_has_at_most_4_mib_and_at_least_one_mail() {
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
