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

    /// A mailbox that cannot be read does not keep the others from being read: it
    /// is the next one's turn. When all are refused, none is passed by.
    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        if matches!(error, PullError::Busy(_) | PullError::Unauthorised) {
            return cursor.to_owned();
        }
        let mut cursors: Cursors = serde_json::from_str(cursor).unwrap_or_default();
        let Some((account, pull)) = self.each.get(cursors.turn) else {
            return cursor.to_owned();
        };
        let own = cursors.each.entry(account.clone()).or_default();
        *own = pull.after_failure(own, error);
        cursors.turn = (cursors.turn + 1) % self.each.len();
        serde_json::to_string(&cursors).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::{Desk, Script, page};
    use crate::round::Stop;

    /// Three mailboxes of which the second one cannot be read.
    fn accounts(error: PullError) -> Accounts<Script> {
        let names = ["a", "b", "c"].map(str::to_owned);
        let build = |name: &str| {
            let name = name.to_owned();
            Script::listing(move |_| match name.as_str() {
                "b" => Err(error),
                _ => Ok(page(&[&format!("mail of {name}")], "1", false)),
            })
        };
        Accounts::new(&names, build).unwrap()
    }

    #[tokio::test]
    async fn a_mailbox_that_cannot_be_read_does_not_keep_the_others_from_it() {
        let (desk, mut accounts) = (Desk::new().await, accounts(PullError::Odd));
        let failed = desk.round(&mut accounts).await;
        assert!(matches!(failed, Err(Stop::Pull(PullError::Odd))));
        assert_eq!(desk.rows().await, 1);
        desk.round(&mut accounts).await.unwrap();
        assert_eq!(desk.rows().await, 2);
        let again = desk.round(&mut accounts).await;
        assert!(again.is_err(), "it is tried again every time around");
        let asked: Vec<usize> = accounts
            .each
            .iter()
            .map(|(_, one)| one.asked.len())
            .collect();
        assert_eq!(asked, [2, 2, 1]);
    }

    #[tokio::test]
    async fn when_the_source_wants_its_rest_the_same_mailbox_is_next() {
        let (desk, mut accounts) = (Desk::new().await, accounts(PullError::Busy(None)));
        for _ in 0..2 {
            assert!(desk.round(&mut accounts).await.is_err());
        }
        let asked: Vec<usize> = accounts
            .each
            .iter()
            .map(|(_, one)| one.asked.len())
            .collect();
        assert_eq!(asked, [1, 2, 0]);
    }
}
