//! Providers that list mail by mailbox: several mailboxes of one source, read
//! one after the other, each with a cursor of its own.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pipeline::Timestamp;
use serde::{Deserialize, Serialize};

use super::PullFlaw;
use crate::pull::{Fetched, Item, Page, Pull, PullError};

/// Where each mailbox stands.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Cursors {
    /// Whose turn it is.
    turn: usize,
    each: BTreeMap<String, String>,
}

/// The mailboxes of a source.
pub(super) struct Accounts<P> {
    each: Vec<(String, P)>,
}

impl<P: Pull> Accounts<P> {
    /// One puller for each configured account.
    pub(super) fn new(
        accounts: &[String],
        mut build: impl FnMut(&str) -> P,
    ) -> Result<Self, PullFlaw> {
        if accounts.is_empty() {
            return Err(PullFlaw::Missing("poll.accounts"));
        }
        let each = accounts
            .iter()
            .map(|account| (account.clone(), build(account)));
        Ok(Self {
            each: each.collect(),
        })
    }
}

#[async_trait]
impl<P: Pull> Pull for Accounts<P> {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let mut cursors: Cursors = serde_json::from_str(cursor).unwrap_or_default();
        let count = self.each.len();
        if cursors.turn >= count {
            cursors.turn = 0;
        }
        let turn = cursors.turn;
        let (account, pull) = self.each.get_mut(turn).ok_or(PullError::Odd)?;
        let own = cursors.each.get(account).cloned().unwrap_or_default();
        let mut page = pull.list(&own, now).await?;
        for item in &mut page.items {
            item.note = serde_json::json!([turn, item.note.take()]);
        }
        cursors.each.insert(account.clone(), page.cursor);
        if !page.has_more {
            cursors.turn += 1;
        }
        let has_more = page.has_more || cursors.turn < count;
        if !has_more {
            cursors.turn = 0;
        }
        Ok(Page {
            items: page.items,
            cursor: serde_json::to_string(&cursors).unwrap_or_default(),
            has_more,
        })
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        let turn = item.note.get(0).and_then(serde_json::Value::as_u64);
        let turn = turn
            .and_then(|turn| usize::try_from(turn).ok())
            .unwrap_or(0);
        let (_, pull) = self.each.get_mut(turn).ok_or(PullError::Odd)?;
        let note = item.note.get(1).cloned().unwrap_or_default();
        let item = Item {
            note,
            ..item.clone()
        };
        pull.fetch(&item).await
    }
}
