//! Postmark's inbound stream.
//!
//! List: `GET /messages/inbound?count=100&offset=N&fromdate=…`, newest first, by offset, up
//! to 10,000 mails; dates are in US Eastern time. A new mail shifts all others down, which
//! repeats some; a deleted one shifts them up, which would skip some, so pages overlap.
//! `Date` comes from the sender, so a pass relies on the server's own clock and on the
//! filter. One mail: `GET /messages/inbound/{id}/details`, in the format of a post without
//! the raw message; it is stored unchanged.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::Api;
use reqwest::header::HeaderName;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::eastern::eastern;
use super::json;
use crate::client::http::{Auth, Got, Http};
use crate::client::list_cursor::{ListCursor, LookBack};
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};

/// Webhooks are retried for 10.4 hours.
const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_mins(10),
    first: Duration::from_hours(11),
};
const COUNT: usize = 100;
/// How many mails two pages have in common.
const OVERLAP: usize = 10;
/// Count and offset together are at most this.
const DEEPEST: usize = 10_000;

pub(super) struct Postmark {
    http: Http,
}

pub(super) fn auth(api: &Api) -> Auth {
    let header = HeaderName::from_static("x-postmark-server-token");
    Auth::Headers(vec![(header, api.key.clone())])
}

impl Postmark {
    pub(super) fn new(http: Http) -> Self {
        Self { http }
    }
}

#[async_trait]
impl SourceClient for Postmark {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let position = ListCursor::parse(cursor);
        let offset = position.page.as_deref().and_then(|at| at.parse().ok());
        let offset: usize = offset.unwrap_or(0);
        let from = eastern(position.floor(LOOK_BACK, now)).ok_or(PollError::UnexpectedAnswer)?;
        let (count, skip) = (COUNT.to_string(), offset.to_string());
        let query = [
            ("count", count.as_str()),
            ("offset", skip.as_str()),
            ("fromdate", from.as_str()),
        ];
        let url = self.http.url(&["messages", "inbound"], &query)?;
        let (answer, date) = self.http.list(url).await?;
        let listed =
            json::list(&answer, &["InboundMessages"]).ok_or(PollError::UnexpectedAnswer)?;
        let items: Vec<ListedMail> = listed.iter().filter_map(item).collect();
        let is_full = listed.len() >= COUNT && offset + 2 * COUNT <= DEEPEST;
        let next = is_full.then(|| (offset + COUNT - OVERLAP).to_string());
        let read_until = position.mark.map(Timestamp::from_millis);
        let position = position.with_server_window(date.map_or(now, |date| date.min(now)));
        let mut page = position.take_page(items, next, LOOK_BACK, now)?;
        for item in &mut page.items {
            // The sender's clock may be behind. A mail that the last pass did not see
            // arrived after that pass.
            item.arrived_at = item.note.as_str().and_then(sent_at).max(read_until);
        }
        Ok(page)
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let path = ["messages", "inbound", &item.id, "details"];
        let url = self.http.url(&path, &[])?;
        Ok(match self.http.mail(url, "application/json").await? {
            Got::Complete(answer) => Fetched::Mail(FoundMail::post(&answer.json()?)),
            Got::Gone => Fetched::Gone,
            Got::TooLarge => Fetched::TooLarge,
        })
    }

    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        ListCursor::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<ListedMail> {
    Some(ListedMail {
        id: json::id(listed, &["MessageID"])?,
        arrived_at: None,
        note: json::at(listed, &["Date"]).cloned().unwrap_or_default(),
    })
}

fn sent_at(date: &str) -> Option<Timestamp> {
    let moment = OffsetDateTime::parse(date, &Rfc2822).ok()?;
    Some(Timestamp::from_millis(
        moment.unix_timestamp().saturating_mul(1000),
    ))
}
