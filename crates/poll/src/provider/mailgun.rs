//! Mailgun's stored messages, by domain.
//!
//! List: `GET /v3/{domain}/events?event=stored&begin=…&ascending=yes&limit=100`;
//! `paging.next` is a URL and always present; an empty page is the end. Events enter the
//! list late, so half an hour of it is read again each time. One mail: `storage.url`, at a
//! subdomain of the API, with `Accept: message/rfc2822`, gives `body-mime` and
//! `recipients`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::{Api, PollSettings, is_own_host, moment};
use serde_json::{Value, json as object};
use url::Url;

use super::accounts::Accounts;
use super::json;
use crate::client::http::{Auth, Got, Http};
use crate::client::list_cursor::{ListCursor, LookBack};
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};
use crate::flaw::PollFlaw;

/// Routes are retried for eight hours.
const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_mins(30),
    first: Duration::from_hours(9),
};

pub(super) fn auth(api: &Api) -> Auth {
    Auth::Basic("api", api.key.clone())
}

/// One domain.
struct Mailgun {
    http: Arc<Http>,
    domain: String,
}

pub(super) fn build(http: Http, poll: &PollSettings) -> Result<Box<dyn SourceClient>, PollFlaw> {
    let http = Arc::new(http);
    let accounts = Accounts::new(&poll.accounts, |domain| Mailgun {
        http: Arc::clone(&http),
        domain: domain.to_owned(),
    })?;
    Ok(Box::new(accounts))
}

impl Mailgun {
    fn first(&self, floor: Timestamp) -> Result<Url, PollError> {
        let begin = floor.as_seconds().to_string();
        let query = [
            ("event", "stored"),
            ("begin", begin.as_str()),
            ("ascending", "yes"),
            ("limit", "100"),
        ];
        self.http.url(&["v3", &self.domain, "events"], &query)
    }
}

#[async_trait]
impl SourceClient for Mailgun {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let position = ListCursor::parse(cursor);
        let url = match &position.page {
            Some(next) => Url::parse(next).ok().ok_or(PollError::UnexpectedAnswer)?,
            None => self.first(position.floor(LOOK_BACK, now))?,
        };
        let (answer, _) = self.http.list(url).await?;
        let listed = json::list(&answer, &["items"]).ok_or(PollError::UnexpectedAnswer)?;
        let items: Vec<ListedMail> = listed.iter().filter_map(item).collect();
        let next = json::text(&answer, &["paging", "next"]).map(str::to_owned);
        position.take_page(items, next.filter(|_| !listed.is_empty()), LOOK_BACK, now)
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let url = item.note.as_str().and_then(|url| Url::parse(url).ok());
        let url = url.ok_or(PollError::UnexpectedAnswer)?;
        if !is_own_host(self.http.base(), &url) {
            return Err(PollError::ForeignHost);
        }
        let answer = match self.http.mail(url, "message/rfc2822").await? {
            Got::Complete(answer) => answer.json()?,
            // Stored messages are kept for a few days.
            Got::Gone => return Ok(Fetched::Gone),
            Got::TooLarge => return Ok(Fetched::TooLarge),
        };
        let raw = json::text(&answer, &["body-mime"]).ok_or(PollError::UnexpectedAnswer)?;
        let recipients = json::addresses(&answer, &["recipients"]);
        Ok(Fetched::Mail(FoundMail::raw(&recipients, raw.as_bytes())))
    }

    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        ListCursor::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<ListedMail> {
    Some(ListedMail {
        id: json::id(listed, &["id"])?,
        arrived_at: json::at(listed, &["timestamp"]).and_then(moment),
        note: object!(json::text(listed, &["storage", "url"])?),
    })
}
