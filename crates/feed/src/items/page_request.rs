//! Which page of which inbox a caller asks for, and reading it without gaps.

use pipeline::{ArtifactView, InboxId, Seq};

use super::cursor::Cursor;
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// The inbox, where the page begins, and how many items it may have.
pub(super) struct PageRequest {
    pub(super) inbox: InboxId,
    /// `None` starts with the oldest item that is kept.
    pub(super) after: Option<Cursor>,
    limit: u32,
}

impl PageRequest {
    /// Checks the parameters of a list or a stream.
    pub(super) fn new(
        feed: &Feed,
        inbox: InboxId,
        after: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Self, Problem> {
        let max = feed.deps.settings.page_limit;
        let limit = limit.unwrap_or(max);
        if !(1..=max).contains(&limit) {
            return Err(Problem::InvalidParameter);
        }
        let after = match after {
            Some(text) => {
                let after = Cursor::decode(&feed.deps.cursor_key, &inbox, text);
                Some(after.ok_or(Problem::InvalidCursor)?)
            }
            None => None,
        };
        Ok(Self {
            inbox,
            after,
            limit,
        })
    }

    /// The items of the page, without a gap between them. Returns a problem if items
    /// after the cursor were deleted, or if the database was restored after the cursor was
    /// issued.
    pub(super) async fn read(&self, feed: &Feed) -> Result<Vec<ArtifactView>, Problem> {
        let log = &feed.deps.log;
        // Also reads the item at the cursor itself. It must be the item that was there when
        // the cursor was issued; otherwise the database was restored.
        let before = Seq::new(self.start().number() - 1);
        let mut views = ask_store(log.artifacts(&self.inbox, before, self.limit + 1)).await?;
        let is_there = views.first().is_some_and(|view| view.seq == self.start());
        let item_at_cursor = is_there.then(|| views.remove(0));
        if self
            .after
            .is_some_and(|after| !after.matches(item_at_cursor.as_ref()))
        {
            return Err(Problem::CursorEpochChanged);
        }
        if let Some(after) = self.after
            && !follows(after.seq, views.first())
        {
            self.check_gap(feed, after.seq, views.first()).await?;
        }
        let gap = views.windows(2).position(|pair| match pair {
            [one, next] => !follows(one.seq, Some(next)),
            _ => false,
        });
        // A page ends before a gap; the request for the next page reports it.
        views.truncate(gap.map_or(views.len(), |at| at + 1));
        views.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        Ok(views)
    }

    /// Decides why the next item does not directly follow the cursor: nothing has
    /// arrived, which is fine; items were deleted; or the cursor is ahead of the list.
    async fn check_gap(
        &self,
        feed: &Feed,
        after: Seq,
        next: Option<&ArtifactView>,
    ) -> Result<(), Problem> {
        let bounds = ask_store(feed.deps.log.feed_bounds(&self.inbox)).await?;
        if after > bounds.last {
            return Err(Problem::CursorEpochChanged);
        }
        let oldest = match next {
            Some(view) => Seq::new(view.seq.number() - 1),
            None if after < bounds.purged => bounds.purged,
            None => return Ok(()),
        };
        let oldest = Cursor::after_deleted(oldest);
        Err(Problem::CursorExpired(self.encode(feed, oldest)))
    }

    /// The cursor after these items. A reader that began without a cursor and got no
    /// items continues after everything that was deleted.
    pub(super) async fn next_cursor(
        &self,
        feed: &Feed,
        views: &[ArtifactView],
    ) -> Result<Cursor, Problem> {
        match (views.last(), self.after) {
            (Some(view), _) => Ok(Cursor::after(view)),
            (None, Some(after)) => Ok(after),
            (None, None) => {
                let bounds = ask_store(feed.deps.log.feed_bounds(&self.inbox)).await?;
                Ok(Cursor::after_deleted(bounds.purged))
            }
        }
    }

    fn start(&self) -> Seq {
        self.after.map_or(Seq::START, |after| after.seq)
    }

    /// The text of a cursor of this inbox.
    pub(super) fn encode(&self, feed: &Feed, cursor: Cursor) -> String {
        cursor.encode(&feed.deps.cursor_key, &self.inbox)
    }
}

/// Whether an item has the position directly after another.
fn follows(position: Seq, next: Option<&ArtifactView>) -> bool {
    next.is_some_and(|view| view.seq.number() == position.number() + 1)
}

/// The inbox with this address, if the caller may see it. One that it may not see is
/// answered like one that does not exist.
pub(super) async fn visible_inbox(
    feed: &Feed,
    address: &str,
    caller: &Caller,
) -> Result<InboxId, Problem> {
    let inbox: InboxId = address.parse().map_err(|_invalid| Problem::NotFound)?;
    // An inbox that the key itself names may be listed before its first mail.
    if caller.scope.covers(&inbox, None) {
        return Ok(inbox);
    }
    let found = ask_store(feed.deps.inboxes.inbox(&inbox, &caller.scope)).await?;
    found.map(|_| inbox).ok_or(Problem::NotFound)
}
