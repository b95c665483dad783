//! Mailhook, by address.
//!
//! List: `GET /email_addresses/{id}/inbound_emails?page=N&per_page=50`. Pages have
//! numbers, and a new mail shifts the others. Known mails are recognized by their `ie_…`
//! ids, and every pass begins at page one. An item holds the mail as text and HTML; there
//! is no original. It is stored as a post would be; the source's `recipient` names its
//! recipient.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::{Api, PollSettings, moment};
use reqwest::header::HeaderName;
use serde_json::{Value, json as object};

use super::json;
use crate::client::http::{Auth, Http};
use crate::client::list_cursor::{ListCursor, LookBack};
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};
use crate::flaw::PollFlaw;

/// Mailhook keeps mail for at least this long.
const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_mins(10),
    first: Duration::from_hours(24),
};
const PER_PAGE: usize = 50;

pub(super) fn auth(api: &Api, poll: &PollSettings) -> Result<Auth, PollFlaw> {
    let agent = poll.agent_id.clone();
    let agent = agent.ok_or(PollFlaw::Missing("poll.agent_id"))?;
    Ok(Auth::Headers(vec![
        (HeaderName::from_static("x-agent-id"), agent.into()),
        (HeaderName::from_static("x-api-key"), api.key.clone()),
    ]))
}

/// One address.
pub(super) struct Mailhook {
    http: Http,
    id: String,
}

impl Mailhook {
    pub(super) fn new(http: Http, poll: &PollSettings) -> Result<Self, PollFlaw> {
        match poll.accounts.as_slice() {
            [id] => Ok(Self {
                http,
                id: id.clone(),
            }),
            [] => Err(PollFlaw::Missing("poll.accounts")),
            _ => Err(PollFlaw::Unfit("poll.accounts", "a source is one address")),
        }
    }
}

#[async_trait]
impl SourceClient for Mailhook {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let position = ListCursor::parse(cursor);
        let page: usize = position
            .page
            .as_deref()
            .and_then(|page| page.parse().ok())
            .unwrap_or(1);
        let (number, size) = (page.to_string(), PER_PAGE.to_string());
        let query = [("page", number.as_str()), ("per_page", size.as_str())];
        let path = ["email_addresses", &self.id, "inbound_emails"];
        let (answer, _) = self.http.list(self.http.url(&path, &query)?).await?;
        let listed = json::list(&answer, &["data"]).ok_or(PollError::UnexpectedAnswer)?;
        let items: Vec<ListedMail> = listed.iter().filter_map(item).collect();
        let next = (listed.len() >= PER_PAGE).then(|| (page + 1).to_string());
        position.take_page(items, next, LOOK_BACK, now)
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let event = object!({ "data": item.note });
        Ok(Fetched::Mail(FoundMail::post(&event)))
    }

    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        ListCursor::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<ListedMail> {
    Some(ListedMail {
        id: json::id(listed, &["id"])?,
        arrived_at: json::at(listed, &["attributes", "received_at"]).and_then(moment),
        note: listed.clone(),
    })
}
