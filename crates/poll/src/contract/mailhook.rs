//! Mailhook, by address.
//!
//! List: `GET /email_addresses/{id}/inbound_emails?page=N&per_page=50`. Pages are
//! numbers, and a mail that arrives moves the others on: what was read before
//! is told by its `ie_…` id, and every round begins at page one again. An item
//! is the mail, text and HTML; there is no original. It is kept as the webhook
//! would have carried it, whose source says whom it is for.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::{Api, PollSettings, moment};
use reqwest::header::HeaderName;
use serde_json::{Value, json as object};

use super::{PullFlaw, json};
use crate::http::{Auth, Http};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::walk::{Reach, Walk};

/// The least that Mailhook keeps mail for.
const REACH: Reach = Reach {
    overlap: Duration::from_mins(10),
    lookback: Duration::from_hours(24),
};
const PER_PAGE: usize = 50;

pub(super) fn auth(api: &Api, poll: &PollSettings) -> Result<Auth, PullFlaw> {
    let agent = poll.agent_id.clone();
    let agent = agent.ok_or(PullFlaw::Missing("poll.agent_id"))?;
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
    pub(super) fn new(http: Http, poll: &PollSettings) -> Result<Self, PullFlaw> {
        match poll.accounts.as_slice() {
            [id] => Ok(Self {
                http,
                id: id.clone(),
            }),
            [] => Err(PullFlaw::Missing("poll.accounts")),
            _ => Err(PullFlaw::Unfit("poll.accounts", "a source is one address")),
        }
    }
}

#[async_trait]
impl Pull for Mailhook {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let walk = Walk::parse(cursor);
        let page: usize = walk
            .at
            .as_deref()
            .and_then(|at| at.parse().ok())
            .unwrap_or(1);
        let (number, size) = (page.to_string(), PER_PAGE.to_string());
        let query = [("page", number.as_str()), ("per_page", size.as_str())];
        let path = ["email_addresses", &self.id, "inbound_emails"];
        let (answer, _) = self.http.list(self.http.place(&path, &query)?).await?;
        let listed = json::list(&answer, &["data"]).ok_or(PullError::Odd)?;
        let items: Vec<Item> = listed.iter().filter_map(item).collect();
        let next = (listed.len() >= PER_PAGE).then(|| (page + 1).to_string());
        walk.step(items, next, REACH, now)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        let event = object!({ "data": item.note });
        Ok(Fetched::Mail(Found::post(&event)))
    }

    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        Walk::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<Item> {
    Some(Item {
        id: json::id(listed, &["id"])?,
        arrived_at: json::at(listed, &["attributes", "received_at"]).and_then(moment),
        note: listed.clone(),
    })
}
