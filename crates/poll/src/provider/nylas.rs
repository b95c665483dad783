//! Nylas v3, by grant.
//!
//! List: `GET /v3/grants/{grant}/messages?limit=50&received_after=…&page_token=…`,
//! newest first, `next_cursor`. Its objects are those of the posts and hold the body. A mail
//! is stored as a post would be, so that a posted and a polled mail become the same
//! message. If it has no body, the original is fetched with `fields=raw_mime`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use pipeline::Timestamp;
use providers::{PollSettings, moment};
use serde_json::{Value, json as object};

use super::accounts::Accounts;
use super::json;
use crate::client::http::{Got, Http};
use crate::client::list_cursor::{ListCursor, LookBack};
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};
use crate::flaw::PollFlaw;

/// Webhooks are retried for 20 minutes, and mailboxes may be late.
const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_mins(10),
    first: Duration::from_hours(1),
};

/// One grant.
struct Nylas {
    http: Arc<Http>,
    grant: String,
}

pub(super) fn build(http: Http, poll: &PollSettings) -> Result<Box<dyn SourceClient>, PollFlaw> {
    let http = Arc::new(http);
    let accounts = Accounts::new(&poll.accounts, |grant| Nylas {
        http: Arc::clone(&http),
        grant: grant.to_owned(),
    })?;
    Ok(Box::new(accounts))
}

impl Nylas {
    async fn original(&self, message: &Value) -> Result<Fetched, PollError> {
        let id = json::id(message, &["id"]).ok_or(PollError::UnexpectedAnswer)?;
        let path = ["v3", "grants", &self.grant, "messages", &id];
        let url = self.http.url(&path, &[("fields", "raw_mime")])?;
        let answer = match self.http.mail(url, "application/json").await? {
            Got::Complete(answer) => answer.json()?,
            Got::Gone => return Ok(Fetched::Gone),
            Got::TooLarge => return Ok(Fetched::TooLarge),
        };
        let text = json::text(&answer, &["data", "raw_mime"]).ok_or(PollError::UnexpectedAnswer)?;
        let raw = URL_SAFE_NO_PAD
            .decode(text)
            .or_else(|_| URL_SAFE.decode(text));
        let raw = raw.ok().ok_or(PollError::UnexpectedAnswer)?;
        let people = json::list(message, &["to"]).map_or(&[][..], Vec::as_slice);
        let to = people.iter().filter_map(|one| json::text(one, &["email"]));
        let recipients: Vec<String> = to.map(str::to_owned).collect();
        Ok(Fetched::Mail(FoundMail::raw(&recipients, &raw)))
    }
}

#[async_trait]
impl SourceClient for Nylas {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let position = ListCursor::parse(cursor);
        let after = position.floor(LOOK_BACK, now).as_seconds().to_string();
        let mut query = vec![("limit", "50"), ("received_after", after.as_str())];
        if let Some(token) = &position.page {
            query.push(("page_token", token));
        }
        let path = ["v3", "grants", &self.grant, "messages"];
        let (answer, _) = self.http.list(self.http.url(&path, &query)?).await?;
        let listed = json::list(&answer, &["data"]).ok_or(PollError::UnexpectedAnswer)?;
        let items = listed.iter().filter_map(|listed| item(&self.grant, listed));
        let next = json::text(&answer, &["next_cursor"]).map(str::to_owned);
        position.take_page(items.collect(), next, LOOK_BACK, now)
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        if json::text(&item.note, &["body"]).is_none() {
            return self.original(&item.note).await;
        }
        let event = object!({
            "type": "message.created",
            "id": item.id,
            "data": { "object": item.note },
        });
        Ok(Fetched::Mail(FoundMail::post(&event)))
    }

    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        ListCursor::after_failure(cursor, error)
    }
}

fn item(grant: &str, listed: &Value) -> Option<ListedMail> {
    let mut note = listed.clone();
    let id = json::id(listed, &["id"])?;
    note.as_object_mut()?
        .insert("grant_id".to_owned(), object!(grant));
    Some(ListedMail {
        id: format!("{grant} {id}"),
        arrived_at: json::at(listed, &["date"]).and_then(moment),
        note,
    })
}
