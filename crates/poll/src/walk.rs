//! How a list that shifts is read whole.
//!
//! Lists grow at their top while we walk down, mails get into them late, and a
//! walk may be cut off at any page. So the mark up to which everything was read
//! moves only when a walk has come to its end; every walk reads some time behind
//! the mark again; and what was read before is told by its id. Times are the
//! source's own and are compared with each other alone. One ahead of our clock
//! counts as now, or a source that lies about one mail would hide all later ones.

use std::time::Duration;

use pipeline::Timestamp;
use serde::{Deserialize, Serialize};

use crate::pull::{Item, Page, PullError};

/// Ids that are remembered for lists without times.
const REMEMBERED: usize = 100;

/// How far behind its mark a walk begins, and where the first one does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// How long a mail may take to appear in the list.
    pub(crate) overlap: Duration,
    /// How far back the first walk goes: for as long as the provider would try
    /// its webhook again.
    pub(crate) lookback: Duration,
}

/// The cursor of such a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Walk {
    /// What arrived before this was read; milliseconds.
    pub(crate) mark: Option<i64>,
    /// The ids at the top of the last whole walk.
    known: Vec<String>,
    /// Where the walk under way is to go on.
    pub(crate) at: Option<String>,
    /// The newest arrival of the walk under way.
    top: Option<i64>,
    /// The ids at its top.
    first: Vec<String>,
}

impl Walk {
    /// Reads a cursor; one that cannot be read begins anew, since everything
    /// known is told by its id.
    pub(crate) fn parse(cursor: &str) -> Self {
        serde_json::from_str(cursor).unwrap_or_default()
    }

    /// From when on mail is to be read.
    pub(crate) fn floor(&self, reach: Reach, now: Timestamp) -> Timestamp {
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(match self.mark {
            Some(mark) => mark.saturating_sub(millis(reach.overlap)),
            None => now.as_millis().saturating_sub(millis(reach.lookback)),
        })
    }

    /// The same walk over a list that the source itself cuts at the floor and
    /// whose mails tell no time to go by: it is read to its end, and the mark is
    /// when it began, by the source's clock.
    pub(crate) fn through_a_window(self, date: Timestamp) -> Self {
        let top = self.top.or(Some(date.as_millis()));
        Self {
            top,
            known: Vec::new(),
            ..self
        }
    }

    /// One page further: what of it is to be read, and where to go on. `next`
    /// is what asks for the following page.
    pub(crate) fn step(
        mut self,
        mut items: Vec<Item>,
        next: Option<String>,
        reach: Reach,
        now: Timestamp,
    ) -> Result<Page, PullError> {
        if next.is_some() && next == self.at {
            return Err(PullError::Endless);
        }
        let floor = self.floor(reach, now);
        let is_below = |item: &Item| item.arrived_at.is_some_and(|at| at < floor);
        let is_known = |item: &Item| item.arrived_at.is_none() && self.known.contains(&item.id);
        let is_end = items.iter().any(|item| is_below(item) || is_known(item))
            || items.is_empty()
            || next.is_none();
        let newest = items.iter().filter_map(|item| item.arrived_at).max();
        let newest = newest.map(|at| at.min(now).as_millis());
        self.top = self.top.max(newest);
        if self.at.is_none() {
            let ids = items.iter().take(REMEMBERED);
            self.first = ids.map(|item| item.id.clone()).collect();
        }
        items.retain(|item| !is_below(item));
        let after = if is_end {
            Self {
                // An empty list tells nothing of the source's clock, and our own
                // may be ahead of it: without a mark everything is still to come.
                mark: self.mark.max(self.top),
                known: if self.first.is_empty() {
                    self.known
                } else {
                    self.first
                },
                ..Self::default()
            }
        } else {
            Self { at: next, ..self }
        };
        Ok(Page {
            items,
            cursor: after.to_cursor(),
            has_more: !is_end,
        })
    }

    /// A walk that failed is begun anew, so that what came meanwhile is read first;
    /// the mark stays. One that is merely to be continued later is.
    pub(crate) fn after_failure(cursor: &str, error: PullError) -> String {
        match error {
            PullError::Busy(_) | PullError::Unauthorised => cursor.to_owned(),
            PullError::Away | PullError::Odd | PullError::LeadsAway | PullError::Endless => {
                let Self { mark, known, .. } = Self::parse(cursor);
                let anew = Self {
                    mark,
                    known,
                    ..Self::default()
                };
                anew.to_cursor()
            }
        }
    }

    /// The walk as a cursor.
    pub(crate) fn to_cursor(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
