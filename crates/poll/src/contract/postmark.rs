//! Postmark's inbound stream.
//!
//! List: `GET /messages/inbound?count=100&offset=N&fromdate=…`, newest first, by
//! offset, up to 10,000 deep; dates are US Eastern. A new mail moves all others
//! one place down, which repeats some, and a deleted one moves them up, which
//! would skip some, so pages overlap. `Date` is what the sender wrote: the walk
//! goes by the server's own clock and the filter alone. One:
//! `GET /messages/inbound/{id}/details`, in the shape of the webhook without the
//! raw message, and is kept as it comes.

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
use crate::http::{Auth, Got, Http};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::walk::{Reach, Walk};

/// Webhooks are tried again for 10.4 hours.
const REACH: Reach = Reach {
    overlap: Duration::from_mins(10),
    lookback: Duration::from_hours(11),
};
const COUNT: usize = 100;
/// How much two pages have in common.
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
impl Pull for Postmark {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let walk = Walk::parse(cursor);
        let offset = walk.at.as_deref().and_then(|at| at.parse().ok());
        let offset: usize = offset.unwrap_or(0);
        let from = eastern(walk.floor(REACH, now)).ok_or(PullError::Odd)?;
        let (count, skip) = (COUNT.to_string(), offset.to_string());
        let query = [
            ("count", count.as_str()),
            ("offset", skip.as_str()),
            ("fromdate", from.as_str()),
        ];
        let url = self.http.place(&["messages", "inbound"], &query)?;
        let (answer, date) = self.http.list(url).await?;
        let listed = json::list(&answer, &["InboundMessages"]).ok_or(PullError::Odd)?;
        let items: Vec<Item> = listed.iter().filter_map(item).collect();
        let is_full = listed.len() >= COUNT && offset + 2 * COUNT <= DEEPEST;
        let next = is_full.then(|| (offset + COUNT - OVERLAP).to_string());
        let read_until = walk.mark.map(Timestamp::from_millis);
        let walk = walk.through_a_window(date.map_or(now, |date| date.min(now)));
        let mut page = walk.step(items, next, REACH, now)?;
        for item in &mut page.items {
            // A sender's clock may be behind; what the last walk did not see came
            // after it.
            item.arrived_at = item.note.as_str().and_then(sent_at).max(read_until);
        }
        Ok(page)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        let path = ["messages", "inbound", &item.id, "details"];
        let url = self.http.place(&path, &[])?;
        Ok(match self.http.mail(url, "application/json").await? {
            Got::Whole(answer) => Fetched::Mail(Found::post(&answer.json()?)),
            Got::Gone => Fetched::Gone,
            Got::TooLarge => Fetched::TooLarge,
        })
    }

    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        Walk::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<Item> {
    Some(Item {
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
