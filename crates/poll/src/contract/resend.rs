//! Resend's received mail.
//!
//! List: `GET /emails/receiving?limit=100&after=ID`, newest first, `has_more`.
//! One: `GET /emails/receiving/{id}`, whose `raw.download_url` leads to the
//! message and expires, so it is asked for anew for each mail, and once more
//! when it has expired on the way. The recipients are `received_for`, or those
//! the mail names.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::moment;
use serde_json::Value;
use url::Url;

use super::json;
use crate::http::{Got, Http};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::walk::{Reach, Walk};

/// Webhooks are tried again for 27.6 hours.
const REACH: Reach = Reach {
    overlap: Duration::from_mins(10),
    lookback: Duration::from_hours(28),
};

pub(super) struct Resend {
    http: Http,
}

impl Resend {
    pub(super) fn new(http: Http) -> Self {
        Self { http }
    }

    async fn message(&self, about: &Value) -> Result<Got, PullError> {
        let link = json::text(about, &["raw", "download_url"]).ok_or(PullError::Odd)?;
        let link = Url::parse(link).ok().ok_or(PullError::Odd)?;
        self.http.mail(link, "*/*").await
    }

    async fn about(&self, id: &str) -> Result<Option<Value>, PullError> {
        let url = self.http.place(&["emails", "receiving", id], &[])?;
        match self.http.mail(url, "application/json").await? {
            Got::Whole(answer) => answer.json().map(Some),
            Got::Gone => Ok(None),
            Got::TooLarge => Err(PullError::Odd),
        }
    }
}

#[async_trait]
impl Pull for Resend {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let walk = Walk::parse(cursor);
        let mut query = vec![("limit", "100")];
        if let Some(after) = &walk.at {
            query.push(("after", after));
        }
        let url = self.http.place(&["emails", "receiving"], &query)?;
        let (answer, _) = self.http.list(url).await?;
        let listed = json::list(&answer, &["data"]).ok_or(PullError::Odd)?;
        let items: Vec<Item> = listed.iter().filter_map(item).collect();
        let has_more = json::at(&answer, &["has_more"]).and_then(Value::as_bool);
        let last = items.last().map(|item| item.id.clone());
        let next = last.filter(|_| has_more == Some(true));
        walk.step(items, next, REACH, now)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        for _ in 0..2 {
            let Some(about) = self.about(&item.id).await? else {
                return Ok(Fetched::Gone);
            };
            match self.message(&about).await? {
                Got::Whole(answer) if self.http.is_too_large(&answer.body) => {
                    return Ok(Fetched::TooLarge);
                }
                Got::Whole(answer) => {
                    return Ok(Fetched::Mail(Found::raw(&recipients(&about), &answer.body)));
                }
                Got::TooLarge => return Ok(Fetched::TooLarge),
                // The link has expired.
                Got::Gone => {}
            }
        }
        Err(PullError::Away)
    }

    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        Walk::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<Item> {
    Some(Item {
        id: json::id(listed, &["id"])?,
        arrived_at: json::at(listed, &["created_at"]).and_then(moment),
        note: Value::Null,
    })
}

fn recipients(about: &Value) -> Vec<String> {
    let received = json::addresses(about, &["received_for"]);
    if !received.is_empty() {
        return received;
    }
    let named = ["to", "cc", "bcc"].map(|field| json::addresses(about, &[field]));
    named.concat()
}
