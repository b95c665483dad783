//! The cursor of a list that changes while it is read.
//!
//! Such a list grows at its top while its pages are read, mails enter it late, and a
//! pass over it may be interrupted at any page. So three rules apply. The mark up to
//! which everything was read moves only when a pass is complete. Every pass reads some
//! time before the mark again. Mails that were read before are recognized by their ids.
//!
//! Times are the source's own and are only compared with each other. A time ahead of
//! our clock counts as now; otherwise one mail with a wrong time would hide all later
//! ones.

use std::time::Duration;

use pipeline::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ListedMail, Page, PollError};

/// How many ids are remembered for lists without times.
const REMEMBERED: usize = 100;

/// How far a pass looks back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookBack {
    /// How far before the mark: how long a mail may take to appear in the list.
    pub(crate) overlap: Duration,
    /// How far the first pass looks back: as long as the provider retries its webhook.
    pub(crate) first: Duration,
}

/// The position in such a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListCursor {
    /// Everything that arrived before this was read; milliseconds.
    pub(crate) mark: Option<i64>,
    /// The ids at the top of the list in the last complete pass.
    known: Vec<String>,
    /// The page at which the current pass continues.
    pub(crate) page: Option<String>,
    /// The newest arrival in the current pass.
    top: Option<i64>,
    /// The ids at the top of the list in the current pass.
    first: Vec<String>,
}

impl ListCursor {
    /// Reads a cursor. If it cannot be read, the list is read from its beginning; known
    /// mails are recognized by their ids.
    pub(crate) fn parse(cursor: &str) -> Self {
        serde_json::from_str(cursor).unwrap_or_default()
    }

    /// The time from which mail is read.
    pub(crate) fn floor(&self, look_back: LookBack, now: Timestamp) -> Timestamp {
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(match self.mark {
            Some(mark) => mark.saturating_sub(millis(look_back.overlap)),
            None => now.as_millis().saturating_sub(millis(look_back.first)),
        })
    }

    /// The same cursor for a list whose mails have no usable time. The source itself leaves
    /// out mail from before the floor, so the list is read to its end. Then the mark becomes
    /// `date`, the time when the pass began by the source's clock.
    pub(crate) fn with_server_window(self, date: Timestamp) -> Self {
        let top = self.top.or(Some(date.as_millis()));
        Self {
            top,
            known: Vec::new(),
            ..self
        }
    }

    /// Adds a page of the list: returns which of its mails to read, and where to continue.
    /// `next` is the token of the following page.
    pub(crate) fn take_page(
        mut self,
        mut items: Vec<ListedMail>,
        next: Option<String>,
        look_back: LookBack,
        now: Timestamp,
    ) -> Result<Page, PollError> {
        if next.is_some() && next == self.page {
            return Err(PollError::EndlessList);
        }
        let floor = self.floor(look_back, now);
        let is_below = |item: &ListedMail| item.arrived_at.is_some_and(|at| at < floor);
        let is_known =
            |item: &ListedMail| item.arrived_at.is_none() && self.known.contains(&item.id);
        let is_end = items.iter().any(|item| is_below(item) || is_known(item))
            || items.is_empty()
            || next.is_none();
        let newest = items.iter().filter_map(|item| item.arrived_at).max();
        let newest = newest.map(|at| at.min(now).as_millis());
        self.top = self.top.max(newest);
        if self.page.is_none() {
            let ids = items.iter().take(REMEMBERED);
            self.first = ids.map(|item| item.id.clone()).collect();
        }
        items.retain(|item| !is_below(item));
        let after = if is_end {
            Self {
                // An empty list says nothing about the source's clock, and ours may be
                // ahead of it. Without a mark nothing is skipped.
                mark: self.mark.max(self.top),
                known: if self.first.is_empty() {
                    self.known
                } else {
                    self.first
                },
                ..Self::default()
            }
        } else {
            Self { page: next, ..self }
        };
        Ok(Page {
            items,
            cursor: after.to_cursor(),
            has_more: !is_end,
        })
    }

    /// After a failure the pass starts again, so that newer mails are read first; the
    /// mark stays. After a refusal the pass continues later where it was.
    pub(crate) fn after_failure(cursor: &str, error: PollError) -> String {
        match error {
            PollError::Busy(_) | PollError::Unauthorized | PollError::StorageFull => {
                cursor.to_owned()
            }
            PollError::Unavailable
            | PollError::UnexpectedAnswer
            | PollError::ForeignHost
            | PollError::EndlessList => {
                let Self { mark, known, .. } = Self::parse(cursor);
                let restarted = Self {
                    mark,
                    known,
                    ..Self::default()
                };
                restarted.to_cursor()
            }
        }
    }

    /// Writes the cursor.
    pub(crate) fn to_cursor(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
