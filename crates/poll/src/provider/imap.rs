//! A mailbox by IMAP (RFC 9051 and RFC 3501).
//!
//! * `EXAMINE` and `BODY.PEEK[]`: nothing is marked, moved or deleted.
//! * Not `UNSEEN`: another client may have read a mail first. New mails are recognized by
//!   their UIDs, which only grow: the cursor is UIDVALIDITY and the next UID. `n:*`
//!   always includes the last mail, so UIDs below `n` are left out.
//! * If UIDVALIDITY changes, all UIDs are invalid. The mailbox is searched again, and known
//!   mails are recognized by a digest of their bytes.
//! * The first cursor begins at the moment when the source is first polled, not at the
//!   oldest mail, unless `poll.since` says otherwise.
//! * Pages are read from the oldest mail on. When somebody waits, the newest mails are read
//!   first.
//! * `IDLE` if the server offers it (RFC 2177), started again within 29 minutes.

mod backwards;
mod idle;
mod old;
mod page;
mod since;

use std::collections::HashMap;
use std::time::Duration;

use async_imap::types::Fetch;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt;
use pipeline::Timestamp;
use providers::PollSettings;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use self::page::{Extent, Listed, Position, first_of, in_order, item, listed_mails, shorten};
use self::since::Since;
use super::accounts::Accounts;
use crate::client::imap_login::{Login, Mailbox};
use crate::client::recipients::recipients;
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};
use crate::flaw::PollFlaw;
use crate::settings::Settings;

/// The most bytes that a server may send besides messages.
const OVERHEAD: u64 = 16 * 1024 * 1024;
/// The most requests of a page, as a rule: login, mailbox, its newest mails, search, sizes,
/// messages.
const REQUESTS: u32 = 6;
/// What is requested about each mail before it is read.
const LISTED: &str = "(UID RFC822.SIZE INTERNALDATE)";

pub(super) struct Imap {
    login: Login,
    mailbox: String,
    /// The first part of the ids, if the source has several folders.
    prefix: String,
    since: Since,
    deliver_to: Vec<String>,
    message_limit: u64,
    answer_budget: Duration,
    session: Option<Mailbox>,
    /// The messages of the page that was listed last.
    bodies: HashMap<u32, Vec<u8>>,
}

/// The client of a mailbox, or of several folders of it.
pub(super) fn build(
    poll: &PollSettings,
    settings: &Settings,
) -> Result<Box<dyn SourceClient>, PollFlaw> {
    if poll.mailboxes.is_empty() {
        let folder = poll.mailbox.as_deref().unwrap_or("INBOX");
        return Ok(Box::new(Imap::new(poll, settings, folder, String::new())?));
    }
    if poll.mailbox.is_some() {
        let why = "set either `mailbox` or `mailboxes`";
        return Err(PollFlaw::Unfit("poll.mailbox", why));
    }
    let client = |folder: &String| -> Result<(String, Imap), PollFlaw> {
        let client = Imap::new(poll, settings, folder, format!("{folder} "))?;
        Ok((folder.clone(), client))
    };
    let clients = poll.mailboxes.iter().map(client);
    Ok(Box::new(Accounts::of(clients.collect::<Result<_, _>>()?)))
}

impl Imap {
    fn new(
        poll: &PollSettings,
        settings: &Settings,
        folder: &str,
        prefix: String,
    ) -> Result<Self, PollFlaw> {
        let server = poll.server.as_deref();
        let server = server.ok_or(PollFlaw::Missing("poll.server"))?;
        let user = poll.user.clone().ok_or(PollFlaw::Missing("poll.user"))?;
        let password = poll.password.clone();
        let password = password.ok_or(PollFlaw::Missing("poll.password"))?;
        Ok(Self {
            login: Login::new(server, user, password, poll.ca_file.as_deref())?,
            mailbox: folder.to_owned(),
            prefix,
            since: Since::read(poll.since.as_deref())?,
            deliver_to: poll.deliver_to.clone(),
            message_limit: settings.message_limit as u64,
            answer_budget: settings.answer_budget,
            session: None,
            bodies: HashMap::new(),
        })
    }

    /// The open session, or a new one. A session is kept only after success: after a
    /// failure or a timeout the server may still send answers to an earlier command.
    async fn session(&mut self) -> Result<Mailbox, PollError> {
        match self.session.take() {
            Some(session) => Ok(session),
            None => self.login.open().await,
        }
    }

    /// Our position in the mailbox, and what the server says about the mailbox.
    async fn examine(
        &self,
        session: &mut Mailbox,
        cursor: &str,
        now: Timestamp,
    ) -> Result<(Position, Extent), PollError> {
        session.as_mut().set_limit(OVERHEAD);
        let mailbox = session.examine(&self.mailbox).await.or_else(unavailable)?;
        let validity = mailbox.uid_validity.ok_or(PollError::UnexpectedAnswer)?;
        let position = Position::resumed(cursor, validity, self.since.at(now));
        let extent = Extent {
            mails: mailbox.exists,
            uid_next: mailbox.uid_next,
        };
        Ok((position, extent))
    }

    async fn page(
        &mut self,
        session: &mut Mailbox,
        cursor: &str,
        now: Timestamp,
    ) -> Result<Page, PollError> {
        let (mut position, extent) = self.examine(session, cursor, now).await?;
        if cursor.is_empty()
            && let Some(next) = self.start(session, position, extent).await?
        {
            position.next = next;
        }
        let uid_next = extent.uid_next;
        if uid_next.is_some_and(|uid| uid <= position.next) {
            return Ok(Page::at(position, Vec::new(), false));
        }
        let found = session
            .uid_search(position.query())
            .await
            .or_else(unavailable)?;
        let found = in_order(found, position.next);
        let old = self.old_ones(session, &found, position).await?;
        let (uids, is_full) = first_of(found.get(old..).unwrap_or_default());
        let mut listed = self.sizes(session, &uids).await?;
        listed.retain(|(_, _, arrived_at)| position.includes(*arrived_at));
        let is_short = shorten(&mut listed, self.message_limit);
        self.read(session, &listed).await?;
        // Mails that were deleted meanwhile are skipped.
        let last = match listed.last() {
            Some((uid, ..)) if is_short => Some(*uid),
            _ => uids.last().copied(),
        };
        let next = last.map(|uid| uid.saturating_add(1)).or(uid_next);
        let next = next.unwrap_or(position.next);
        let after = Position { next, ..position };
        let items = listed
            .iter()
            .map(|listed| item(&self.prefix, position.validity, *listed));
        Ok(Page::at(after, items.collect(), is_short || is_full))
    }

    async fn sizes(&self, session: &mut Mailbox, uids: &[u32]) -> Result<Vec<Listed>, PollError> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let answers = session
            .uid_fetch(joined(uids), LISTED)
            .await
            .or_else(unavailable)?;
        let answers: Vec<Fetch> = answers.try_collect().await.or_else(unavailable)?;
        let mut listed = listed_mails(&answers);
        listed.retain(|(uid, ..)| uids.contains(uid));
        Ok(listed)
    }

    /// Reads all messages of a page; those that are too large are left out.
    async fn read(&mut self, session: &mut Mailbox, listed: &[Listed]) -> Result<(), PollError> {
        self.bodies.clear();
        let fits = |(_, size, _): &&Listed| *size <= self.message_limit;
        let uids: Vec<u32> = listed.iter().filter(fits).map(|(uid, ..)| *uid).collect();
        if uids.is_empty() {
            return Ok(());
        }
        let bytes: u64 = listed.iter().filter(fits).map(|(_, size, _)| size).sum();
        session
            .as_mut()
            .set_limit(bytes.saturating_mul(2).saturating_add(OVERHEAD));
        let answers = session
            .uid_fetch(joined(&uids), "(UID BODY.PEEK[])")
            .await
            .or_else(unavailable)?;
        let answers: Vec<_> = answers.try_collect().await.or_else(unavailable)?;
        for answer in &answers {
            if let (Some(uid), Some(body)) = (answer.uid, answer.body()) {
                self.bodies.insert(uid, body.to_vec());
            }
        }
        Ok(())
    }
}

#[async_trait]
impl SourceClient for Imap {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let mut session = self.session().await?;
        let page = self.page(&mut session, cursor, now).await?;
        self.session = Some(session);
        Ok(page)
    }

    async fn newest(&mut self, cursor: &str, now: Timestamp) -> Result<Vec<ListedMail>, PollError> {
        let mut session = self.session().await?;
        let newest = self.newest_page(&mut session, cursor, now).await?;
        self.session = Some(session);
        Ok(newest)
    }

    fn requests(&self) -> u32 {
        REQUESTS
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let number = |at: usize| item.note.get(at).and_then(serde_json::Value::as_u64);
        let uid = number(0).and_then(|uid| u32::try_from(uid).ok());
        if number(1).is_some_and(|size| size > self.message_limit) {
            return Ok(Fetched::TooLarge);
        }
        let Some(raw) = uid.and_then(|uid| self.bodies.remove(&uid)) else {
            return Ok(Fetched::Gone);
        };
        if raw.len() as u64 > self.message_limit {
            return Ok(Fetched::TooLarge);
        }
        let to = if self.deliver_to.is_empty() {
            recipients(&raw)
        } else {
            self.deliver_to.clone()
        };
        let found = FoundMail::raw(&to, &raw);
        let lasting_id = Some(STANDARD.encode(Sha256::digest(&found.body)));
        Ok(Fetched::Mail(FoundMail {
            lasting_id,
            ..found
        }))
    }

    async fn wait_for_mail(&mut self, cursor: &str, now: Timestamp) -> Result<(), PollError> {
        let ready = timeout(self.answer_budget, async {
            let mut session = self.session().await?;
            let offered = session.capabilities().await.or_else(unavailable)?;
            Ok((offered.has_str("IDLE"), session))
        });
        let (has_idle, session) = ready.await.or_else(unavailable)??;
        if !has_idle {
            self.session = Some(session);
            return std::future::pending().await;
        }
        self.session = Some(self.idle(session, cursor, now).await?);
        Ok(())
    }
}

/// The library's errors may quote a mail, so nothing of them is kept.
fn unavailable<T, E>(_: E) -> Result<T, PollError> {
    Err(PollError::Unavailable)
}

fn joined(uids: &[u32]) -> String {
    let texts: Vec<String> = uids.iter().map(u32::to_string).collect();
    texts.join(",")
}
