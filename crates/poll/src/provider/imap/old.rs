//! Old mail before the first mail that is read. After a change of UIDVALIDITY a whole mailbox
//! is searched, and listing its old mail page by page would delay new mail for minutes.

use std::fmt::Write;

use async_imap::types::Fetch;
use futures_util::TryStreamExt;

use super::page::{PAGE, Position, listed_mails};
use super::{Imap, LISTED, OVERHEAD, unavailable};
use crate::client::PollError;
use crate::client::imap_login::Mailbox;

/// The most mails whose times are asked for in one command.
const DATED: usize = 5_000;
/// The most such commands of a page. The next page goes on from there.
const MOST_COMMANDS: usize = 10;
/// The longest set of UIDs in a command: servers limit the length of a line.
const LONGEST_SET: usize = 4_000;

impl Imap {
    /// How many of these mails come before the first one that is read. Their order says
    /// nothing about their age: a restored mailbox may have any order. 0 if there is only one
    /// page.
    pub(super) async fn old_ones(
        &self,
        session: &mut Mailbox,
        uids: &[u32],
        position: Position,
    ) -> Result<usize, PollError> {
        let mut old = 0;
        if position.since.is_none() || uids.len() <= PAGE {
            return Ok(old);
        }
        for _ in 0..MOST_COMMANDS {
            let rest = uids.get(old..).unwrap_or_default();
            let (set, named) = uid_set(rest);
            if named == 0 {
                break;
            }
            session.as_mut().set_limit(OVERHEAD);
            let answers = session.uid_fetch(set, LISTED).await.or_else(unavailable)?;
            let answers: Vec<Fetch> = answers.try_collect().await.or_else(unavailable)?;
            let listed = listed_mails(&answers);
            let is_read = |(uid, _, arrived_at): &&(u32, u64, _)| {
                position.includes(*arrived_at) && rest.binary_search(uid).is_ok()
            };
            if let Some((first, ..)) = listed.iter().find(is_read) {
                return Ok(uids.partition_point(|uid| uid < first));
            }
            old += named;
        }
        Ok(old)
    }
}

/// The first of these UIDs as a set of ranges, and how many they are.
fn uid_set(uids: &[u32]) -> (String, usize) {
    let (mut set, mut named) = (String::new(), 0);
    let uids = uids.get(..uids.len().min(DATED)).unwrap_or_default();
    for run in uids.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
        if set.len() >= LONGEST_SET {
            break;
        }
        let comma = if set.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = match run {
            [first, .., last] => write!(set, "{comma}{first}:{last}"),
            _ => write!(set, "{comma}{}", run.first().copied().unwrap_or(1)),
        };
        named += run.len();
    }
    (set, named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_uids_are_one_range_of_the_set() {
        assert_eq!(uid_set(&[]), (String::new(), 0));
        assert_eq!(uid_set(&[7]), ("7".to_owned(), 1));
        assert_eq!(uid_set(&[1, 2, 3, 7, 9, 10]), ("1:3,7,9:10".to_owned(), 6));
    }

    #[test]
    fn set_names_at_most_5000_uids_and_fits_into_a_line() {
        let all: Vec<u32> = (1..=20_000).collect();
        assert_eq!(uid_set(&all), ("1:5000".to_owned(), 5_000));
        let every_second: Vec<u32> = (1..=20_000).map(|uid| 2 * uid).collect();
        let (set, named) = uid_set(&every_second);
        assert!(set.len() < LONGEST_SET + 12, "{}", set.len());
        assert_eq!(set.split(',').count(), named);
    }
}
