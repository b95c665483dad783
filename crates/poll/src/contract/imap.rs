//! A mailbox by IMAP (RFC 9051, and 3501 before it).
//!
//! * `EXAMINE` and `BODY.PEEK[]`: nothing is marked, moved or deleted, whatever
//!   other clients do with the mailbox meanwhile.
//! * Not `UNSEEN`: another client may have looked at a mail first. What is new
//!   is told by its UID, which only ever grows: the cursor is UIDVALIDITY and
//!   the next UID. `n:*` always names the last mail, so what lies below is left
//!   out.
//! * Another UIDVALIDITY means that all UIDs are void. Everything is read again,
//!   and told from what is known by a digest of its bytes.
//! * `IDLE` where it is offered (RFC 2177), begun anew within 29 minutes.

mod page;

use std::collections::HashMap;
use std::time::Duration;

use async_imap::extensions::idle::IdleResponse;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt;
use pipeline::Timestamp;
use providers::PollSettings;
use sha2::{Digest, Sha256};
use tokio::time::{sleep, timeout};

use self::page::{Listed, Place, first_of, item, shorten};
use super::PullFlaw;
use crate::imap_login::{Login, Mailbox};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::recipients::recipients;
use crate::settings::Settings;

/// What a server may send besides messages.
const CHATTER: u64 = 16 * 1024 * 1024;
/// A server that chatters is heard no more often than this.
const BREATH: Duration = Duration::from_millis(200);
/// How long one `IDLE` lasts.
const IDLE: Duration = Duration::from_mins(25);

pub(super) struct Imap {
    login: Login,
    mailbox: String,
    deliver_to: Vec<String>,
    message_limit: u64,
    answer_budget: Duration,
    session: Option<Mailbox>,
    /// The messages of the page that was listed last.
    bodies: HashMap<u32, Vec<u8>>,
}

impl Imap {
    pub(super) fn new(poll: &PollSettings, settings: &Settings) -> Result<Self, PullFlaw> {
        let server = poll.server.as_deref();
        let server = server.ok_or(PullFlaw::Missing("poll.server"))?;
        let user = poll.user.clone().ok_or(PullFlaw::Missing("poll.user"))?;
        let password = poll.password.clone();
        let password = password.ok_or(PullFlaw::Missing("poll.password"))?;
        Ok(Self {
            login: Login::new(server, user, password, poll.ca_file.as_deref())?,
            mailbox: poll.mailbox.clone().unwrap_or_else(|| "INBOX".to_owned()),
            deliver_to: poll.deliver_to.clone(),
            message_limit: settings.message_limit as u64,
            answer_budget: settings.answer_budget,
            session: None,
            bodies: HashMap::new(),
        })
    }

    /// The session that is open, or a new one. It is put back only when all went
    /// well: after a failure, or when the wait for it was given up, nobody knows
    /// what the server still has to say.
    async fn session(&mut self) -> Result<Mailbox, PullError> {
        match self.session.take() {
            Some(session) => Ok(session),
            None => self.login.enter().await,
        }
    }

    /// Where we stand in the mailbox, and where it does, if it tells.
    async fn look(
        &self,
        session: &mut Mailbox,
        cursor: &str,
    ) -> Result<(Place, Option<u32>), PullError> {
        session.as_mut().allow(CHATTER);
        let mailbox = session.examine(&self.mailbox).await.or_else(away)?;
        let validity = mailbox.uid_validity.ok_or(PullError::Odd)?;
        Ok((Place::resumed(cursor, validity), mailbox.uid_next))
    }

    async fn page(&mut self, session: &mut Mailbox, cursor: &str) -> Result<Page, PullError> {
        let (place, uid_next) = self.look(session, cursor).await?;
        if uid_next.is_some_and(|uid| uid <= place.next) {
            return Ok(Page::at(place, Vec::new(), false));
        }
        let query = format!("UID {}:*", place.next);
        let found = session.uid_search(query).await.or_else(away)?;
        let (uids, is_full) = first_of(found, place.next);
        let mut listed = self.sizes(session, &uids).await?;
        let is_short = shorten(&mut listed, self.message_limit);
        self.read(session, &listed).await?;
        // Mails that were deleted while we looked are passed by.
        let last = match listed.last() {
            Some((uid, ..)) if is_short => Some(*uid),
            _ => uids.last().copied(),
        };
        let next = last.map(|uid| uid.saturating_add(1)).or(uid_next);
        let next = next.unwrap_or(place.next);
        let after = Place { next, ..place };
        let items = listed.iter().map(|listed| item(place.validity, *listed));
        Ok(Page::at(after, items.collect(), is_short || is_full))
    }

    async fn sizes(&self, session: &mut Mailbox, uids: &[u32]) -> Result<Vec<Listed>, PullError> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let what = "(UID RFC822.SIZE INTERNALDATE)";
        let answers = session.uid_fetch(joined(uids), what).await.or_else(away)?;
        let answers: Vec<_> = answers.try_collect().await.or_else(away)?;
        let mut listed: Vec<Listed> = answers
            .iter()
            .filter_map(|answer| {
                let at = answer.internal_date().map(|at| at.timestamp_millis());
                let size = u64::from(answer.size.unwrap_or(0));
                Some((answer.uid?, size, at.map(Timestamp::from_millis)))
            })
            .filter(|(uid, ..)| uids.contains(uid))
            .collect();
        listed.sort_unstable_by_key(|(uid, ..)| *uid);
        listed.dedup_by_key(|(uid, ..)| *uid);
        Ok(listed)
    }

    /// Reads the messages of a page at once; one that is too large is left out.
    async fn read(&mut self, session: &mut Mailbox, listed: &[Listed]) -> Result<(), PullError> {
        self.bodies.clear();
        let fits = |(_, size, _): &&Listed| *size <= self.message_limit;
        let uids: Vec<u32> = listed.iter().filter(fits).map(|(uid, ..)| *uid).collect();
        if uids.is_empty() {
            return Ok(());
        }
        let bytes: u64 = listed.iter().filter(fits).map(|(_, size, _)| size).sum();
        session
            .as_mut()
            .allow(bytes.saturating_mul(2).saturating_add(CHATTER));
        let answers = session
            .uid_fetch(joined(&uids), "(UID BODY.PEEK[])")
            .await
            .or_else(away)?;
        let answers: Vec<_> = answers.try_collect().await.or_else(away)?;
        for answer in &answers {
            if let (Some(uid), Some(body)) = (answer.uid, answer.body()) {
                self.bodies.insert(uid, body.to_vec());
            }
        }
        Ok(())
    }

    /// Waits until a new mail may be there.
    async fn idle(&self, mut session: Mailbox, cursor: &str) -> Result<Mailbox, PullError> {
        let mut is_told = false;
        loop {
            let looked = timeout(self.answer_budget, self.look(&mut session, cursor));
            let (place, uid_next) = looked.await.or_else(away)??;
            if uid_next.map_or(is_told, |uid| uid > place.next) {
                return Ok(session);
            }
            let mut handle = session.idle();
            handle.init().await.or_else(away)?;
            let (wait, _interrupt) = handle.wait_with_timeout(IDLE);
            is_told = match wait.await.or_else(away)? {
                IdleResponse::NewData(_) => true,
                IdleResponse::Timeout => false,
                IdleResponse::ManualInterrupt => return Err(PullError::Away),
            };
            session = handle.done().await.or_else(away)?;
            sleep(BREATH).await;
        }
    }
}

#[async_trait]
impl Pull for Imap {
    async fn list(&mut self, cursor: &str, _now: Timestamp) -> Result<Page, PullError> {
        let mut session = self.session().await?;
        let page = self.page(&mut session, cursor).await?;
        self.session = Some(session);
        Ok(page)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
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
        let found = Found::raw(&to, &raw);
        let lasting_id = Some(STANDARD.encode(Sha256::digest(&found.body)));
        Ok(Fetched::Mail(Found {
            lasting_id,
            ..found
        }))
    }

    async fn news(&mut self, cursor: &str) -> Result<(), PullError> {
        let ready = timeout(self.answer_budget, async {
            let mut session = self.session().await?;
            let offered = session.capabilities().await.or_else(away)?;
            Ok((offered.has_str("IDLE"), session))
        });
        let (has_idle, session) = ready.await.or_else(away)??;
        if !has_idle {
            self.session = Some(session);
            return std::future::pending().await;
        }
        self.session = Some(self.idle(session, cursor).await?);
        Ok(())
    }
}

/// Whatever the library says may quote a mail, so none of it is kept.
fn away<T, E>(_: E) -> Result<T, PullError> {
    Err(PullError::Away)
}

fn joined(uids: &[u32]) -> String {
    let texts: Vec<String> = uids.iter().map(u32::to_string).collect();
    texts.join(",")
}
