//! Resend's received mail.
//!
//! List: `GET /emails/receiving?limit=100&after=ID`, newest first, `has_more`.
//! One mail: `GET /emails/receiving/{id}` gives `raw.download_url`, a link to the message.
//! The link expires; then it is requested once more. Without a link the message is rebuilt
//! from the answer's text and HTML. The recipients are `received_for`, or
//! those that the mail names.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::{message_of_answer, moment};
use serde_json::Value;
use url::Url;

use super::json;
use crate::client::http::{Got, Http};
use crate::client::list_cursor::{ListCursor, LookBack};
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};

/// Webhooks are retried for 27.6 hours.
const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_mins(10),
    first: Duration::from_hours(28),
};

pub(super) struct Resend {
    http: Http,
}

impl Resend {
    pub(super) fn new(http: Http) -> Self {
        Self { http }
    }

    /// Fetches the message by the link in the API's description of the mail.
    async fn message(&self, about: &Value) -> Result<Got, PollError> {
        let link =
            json::text(about, &["raw", "download_url"]).ok_or(PollError::UnexpectedAnswer)?;
        let link = Url::parse(link).ok().ok_or(PollError::UnexpectedAnswer)?;
        self.http.mail(link, "*/*").await
    }

    /// The API's description of a mail; `None` if the mail was deleted.
    async fn about(&self, id: &str) -> Result<Option<Value>, PollError> {
        let url = self.http.url(&["emails", "receiving", id], &[])?;
        match self.http.mail(url, "application/json").await? {
            Got::Complete(answer) => answer.json().map(Some),
            Got::Gone => Ok(None),
            Got::TooLarge => Err(PollError::UnexpectedAnswer),
        }
    }
}

#[async_trait]
impl SourceClient for Resend {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let position = ListCursor::parse(cursor);
        let mut query = vec![("limit", "100")];
        if let Some(after) = &position.page {
            query.push(("after", after));
        }
        let url = self.http.url(&["emails", "receiving"], &query)?;
        let (answer, _) = self.http.list(url).await?;
        let listed = json::list(&answer, &["data"]).ok_or(PollError::UnexpectedAnswer)?;
        let items: Vec<ListedMail> = listed.iter().filter_map(item).collect();
        let has_more = json::at(&answer, &["has_more"]).and_then(Value::as_bool);
        let last = items.last().map(|item| item.id.clone());
        let next = last.filter(|_| has_more == Some(true));
        position.take_page(items, next, LOOK_BACK, now)
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        for _ in 0..2 {
            let Some(about) = self.about(&item.id).await? else {
                return Ok(Fetched::Gone);
            };
            if json::text(&about, &["raw", "download_url"]).is_none()
                && let Some(message) = message_of_answer(about.to_string().as_bytes())
            {
                let rebuilt = FoundMail::rebuilt(&recipients(&about), &message);
                return Ok(Fetched::Mail(rebuilt));
            }
            match self.message(&about).await? {
                Got::Complete(answer) if self.http.is_too_large(&answer.body) => {
                    return Ok(Fetched::TooLarge);
                }
                Got::Complete(answer) => {
                    return Ok(Fetched::Mail(FoundMail::raw(
                        &recipients(&about),
                        &answer.body,
                    )));
                }
                Got::TooLarge => return Ok(Fetched::TooLarge),
                // The link has expired.
                Got::Gone => {}
            }
        }
        Err(PollError::Unavailable)
    }

    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        ListCursor::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<ListedMail> {
    Some(ListedMail {
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
