//! Several mailboxes of one source, at providers that list mail by mailbox. They are read
//! one after the other, each with its own cursor.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pipeline::Timestamp;
use serde::{Deserialize, Serialize};

use crate::client::{Fetched, ListedMail, Page, PollError, SourceClient};
use crate::flaw::PollFlaw;

/// The cursor of each mailbox.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Cursors {
    /// The index of the mailbox to read next.
    turn: usize,
    each: BTreeMap<String, String>,
}

/// The mailboxes of a source.
pub(super) struct Accounts<P> {
    each: Vec<(String, P)>,
}

impl<P: SourceClient> Accounts<P> {
    /// These clients, each with the name of its mailbox.
    pub(super) fn of(each: Vec<(String, P)>) -> Self {
        Self { each }
    }

    /// One client for each configured account.
    pub(super) fn new(
        accounts: &[String],
        mut build: impl FnMut(&str) -> P,
    ) -> Result<Self, PollFlaw> {
        if accounts.is_empty() {
            return Err(PollFlaw::Missing("poll.accounts"));
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
impl<P: SourceClient> SourceClient for Accounts<P> {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let mut cursors: Cursors = serde_json::from_str(cursor).unwrap_or_default();
        let count = self.each.len();
        if cursors.turn >= count {
            cursors.turn = 0;
        }
        let turn = cursors.turn;
        let (account, client) = self.each.get_mut(turn).ok_or(PollError::UnexpectedAnswer)?;
        let own = cursors.each.get(account).cloned().unwrap_or_default();
        let mut page = client.list(&own, now).await?;
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

    /// A broken mailbox has no newest mails here; its page reports the failure.
    async fn newest(&mut self, cursor: &str, now: Timestamp) -> Result<Vec<ListedMail>, PollError> {
        let cursors: Cursors = serde_json::from_str(cursor).unwrap_or_default();
        let mut newest = Vec::new();
        for (turn, (account, client)) in self.each.iter_mut().enumerate() {
            let own = cursors.each.get(account).cloned().unwrap_or_default();
            let items = match client.newest(&own, now).await {
                Err(error) if concerns_all(error) => return Err(error),
                listed => listed.unwrap_or_default(),
            };
            for mut item in items {
                item.note = serde_json::json!([turn, item.note.take()]);
                newest.push(item);
            }
        }
        Ok(newest)
    }

    fn requests(&self) -> u32 {
        let each = self.each.iter().map(|(_, client)| client.requests());
        each.max().unwrap_or(1)
    }

    fn newest_requests(&self) -> u32 {
        let each = self.each.iter().map(|(_, client)| client.newest_requests());
        each.fold(0, u32::saturating_add)
    }

    fn list_at(&self, cursor: &str) -> usize {
        let cursors: Cursors = serde_json::from_str(cursor).unwrap_or_default();
        cursors.turn
    }

    fn is_finite(&self) -> bool {
        self.each.iter().all(|(_, client)| client.is_finite())
    }

    /// Waits for the first mailbox; the others are polled in turn.
    async fn wait_for_mail(&mut self, cursor: &str, now: Timestamp) -> Result<(), PollError> {
        let cursors: Cursors = serde_json::from_str(cursor).unwrap_or_default();
        let Some((account, client)) = self.each.first_mut() else {
            return std::future::pending().await;
        };
        let own = cursors.each.get(account).cloned().unwrap_or_default();
        client.wait_for_mail(&own, now).await
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let turn = item.note.get(0).and_then(serde_json::Value::as_u64);
        let turn = turn
            .and_then(|turn| usize::try_from(turn).ok())
            .unwrap_or(0);
        let (_, client) = self.each.get_mut(turn).ok_or(PollError::UnexpectedAnswer)?;
        let note = item.note.get(1).cloned().unwrap_or_default();
        let item = ListedMail {
            note,
            ..item.clone()
        };
        client.fetch(&item).await
    }

    /// Returns the cursor to use after a failure. It moves to the next mailbox, so that one
    /// broken mailbox does not block the others. After `Busy` or `Unauthorized`, which concern
    /// the whole source, it stays unchanged.
    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        if concerns_all(error) {
            return cursor.to_owned();
        }
        let mut cursors: Cursors = serde_json::from_str(cursor).unwrap_or_default();
        let Some((account, client)) = self.each.get(cursors.turn) else {
            return cursor.to_owned();
        };
        let own = cursors.each.entry(account.clone()).or_default();
        *own = client.after_failure(own, error);
        cursors.turn = (cursors.turn + 1) % self.each.len();
        serde_json::to_string(&cursors).unwrap_or_default()
    }
}

/// Whether an error concerns the whole source, and not only one mailbox.
fn concerns_all(error: PollError) -> bool {
    matches!(error, PollError::Busy(_) | PollError::Unauthorized)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_source::{ScriptedSource, TestPoller, page};
    use crate::source_loop::round::Stop;
    use tokio::sync::Notify;

    /// Three mailboxes, the second of which fails.
    fn accounts(error: PollError) -> Accounts<ScriptedSource> {
        let names = ["a", "b", "c"].map(str::to_owned);
        let build = |name: &str| {
            let name = name.to_owned();
            ScriptedSource::listing(move |_| match name.as_str() {
                "b" => Err(error),
                _ => Ok(page(&[&format!("mail of {name}")], "1", false)),
            })
        };
        Accounts::new(&names, build).unwrap()
    }

    #[tokio::test]
    async fn failing_mailbox_does_not_block_the_others() {
        let (poller, mut accounts) = (
            TestPoller::new().await,
            accounts(PollError::UnexpectedAnswer),
        );
        let failed = poller.round(&mut accounts).await;
        assert!(matches!(
            failed,
            Err(Stop::Source(PollError::UnexpectedAnswer))
        ));
        assert_eq!(poller.rows().await, 1);
        poller.round(&mut accounts).await.unwrap();
        assert_eq!(poller.rows().await, 2);
        let again = poller.round(&mut accounts).await;
        assert!(again.is_err(), "the failing mailbox is tried again");
        let asked: Vec<usize> = accounts
            .each
            .iter()
            .map(|(_, one)| one.asked.len())
            .collect();
        assert_eq!(asked, [2, 2, 1]);
    }

    #[tokio::test]
    async fn newest_mail_of_the_others_is_read_although_a_mailbox_fails() {
        let poller = TestPoller::new().await;
        let mut accounts = accounts(PollError::UnexpectedAnswer);
        for (name, client) in &mut accounts.each {
            client.newest = match name.as_str() {
                "b" => Err(PollError::UnexpectedAnswer),
                "c" => Ok(vec!["newest of c"]),
                _ => Ok(Vec::new()),
            };
        }
        let awaited = Notify::new();
        awaited.notify_one();
        let failed = poller.round_for(&mut accounts, &awaited).await;
        assert!(failed.is_err(), "the page of the mailbox fails");
        assert_eq!(accounts.each[2].1.fetched, ["newest of c"]);
        assert_eq!(poller.rows().await, 2, "the first mailbox is read, too");
    }

    #[tokio::test]
    async fn newest_mail_of_no_mailbox_is_read_after_a_refusal() {
        let mut accounts = accounts(PollError::UnexpectedAnswer);
        accounts.each[1].1.newest = Err(PollError::Unauthorized);
        let newest = accounts.newest("", Timestamp::from_millis(0)).await;
        assert!(matches!(newest, Err(PollError::Unauthorized)));
        assert_eq!(accounts.newest_requests(), 3);
    }

    #[tokio::test]
    async fn more_mailboxes_than_pages_in_a_round_are_read_in_several() {
        let poller = TestPoller::new().await;
        let names: Vec<String> = (0..8).map(|number| format!("box {number}")).collect();
        let build = |_: &str| ScriptedSource::listing(|_| Ok(page(&[], "1", false)));
        let mut accounts = Accounts::new(&names, build).unwrap();
        assert!(poller.round(&mut accounts).await.unwrap().is_incomplete);
        assert!(!poller.round(&mut accounts).await.unwrap().is_incomplete);
        assert!(accounts.each.iter().all(|(_, one)| one.asked.len() == 1));
    }

    #[tokio::test]
    async fn after_a_refusal_the_same_mailbox_is_next() {
        let (poller, mut accounts) = (TestPoller::new().await, accounts(PollError::Busy(None)));
        for _ in 0..2 {
            assert!(poller.round(&mut accounts).await.is_err());
        }
        let asked: Vec<usize> = accounts
            .each
            .iter()
            .map(|(_, one)| one.asked.len())
            .collect();
        assert_eq!(asked, [1, 2, 0]);
    }
}
