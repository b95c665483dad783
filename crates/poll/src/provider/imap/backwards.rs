//! A mailbox read from its newest mail backwards: where the first poll begins, and the newest
//! mails when somebody waits. Mails are named by their numbers, which have no gaps.

use async_imap::types::Fetch;
use futures_util::TryStreamExt;
use pipeline::Timestamp;

use super::page::{Extent, Position, item, listed_mails, newest_of, shorten};
use super::{Imap, LISTED, unavailable};
use crate::client::imap_login::Mailbox;
use crate::client::{ListedMail, PollError};

/// How many mails are looked at in one step from the newest mail backwards.
const STEP_BACK: u32 = 200;
/// The most such steps.
const MOST_STEPS_BACK: u32 = 10;

impl Imap {
    /// Where the first poll begins, found from the newest mail backwards: old mail is not
    /// listed, however much there is. `None` if that takes too long; then the whole mailbox
    /// is searched.
    pub(super) async fn start(
        &self,
        session: &mut Mailbox,
        position: Position,
        extent: Extent,
    ) -> Result<Option<u32>, PollError> {
        let (Some(mut next), Some(_)) = (extent.uid_next, position.since) else {
            return Ok(None);
        };
        let mut last = extent.mails;
        for _ in 0..MOST_STEPS_BACK {
            if last == 0 {
                return Ok(Some(next));
            }
            let first = last.saturating_sub(STEP_BACK - 1).max(1);
            let listed = session
                .fetch(format!("{first}:{last}"), LISTED)
                .await
                .or_else(unavailable)?;
            let listed: Vec<Fetch> = listed.try_collect().await.or_else(unavailable)?;
            for (uid, _, arrived_at) in listed_mails(&listed).into_iter().rev() {
                if !position.includes(arrived_at) {
                    return Ok(Some(next));
                }
                next = uid;
            }
            last = first - 1;
        }
        Ok(None)
    }

    /// Lists and reads the newest mails after the cursor, if the next page does not hold
    /// them.
    pub(super) async fn newest_page(
        &mut self,
        session: &mut Mailbox,
        cursor: &str,
        now: Timestamp,
    ) -> Result<Vec<ListedMail>, PollError> {
        let (position, extent) = self.examine(session, cursor, now).await?;
        let is_behind = extent.uid_next.is_some_and(|uid| uid > position.next);
        if cursor.is_empty() || extent.mails == 0 || !is_behind {
            return Ok(Vec::new());
        }
        let first = extent.mails.saturating_sub(STEP_BACK - 1).max(1);
        let answers = session
            .fetch(format!("{first}:{}", extent.mails), LISTED)
            .await
            .or_else(unavailable)?;
        let answers: Vec<Fetch> = answers.try_collect().await.or_else(unavailable)?;
        let mut listed = newest_of(listed_mails(&answers), position);
        shorten(&mut listed, self.message_limit);
        self.read(session, &listed).await?;
        let items = listed
            .iter()
            .map(|listed| item(&self.prefix, position.validity, *listed));
        Ok(items.collect())
    }
}
