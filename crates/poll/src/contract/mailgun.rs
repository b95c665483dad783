//! Mailgun's stored messages, by domain.
//!
//! List: `GET /v3/{domain}/events?event=stored&begin=…&ascending=yes&limit=100`;
//! `paging.next` is a whole URL and always there, an empty page is the end.
//! Events get into the list late, so half an hour of it is read again each time.
//! One: `storage.url`, on a host below the API's, with `Accept: message/rfc2822`,
//! gives `body-mime` and `recipients`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::{Api, PollSettings, is_within, moment};
use serde_json::{Value, json as object};
use url::Url;

use super::accounts::Accounts;
use super::{PullFlaw, json};
use crate::http::{Auth, Got, Http};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::walk::{Reach, Walk};

/// Routes are tried again for eight hours.
const REACH: Reach = Reach {
    overlap: Duration::from_mins(30),
    lookback: Duration::from_hours(9),
};

pub(super) fn auth(api: &Api) -> Auth {
    Auth::Basic("api", api.key.clone())
}

/// One domain.
struct Mailgun {
    http: Arc<Http>,
    domain: String,
}

pub(super) fn build(http: Http, poll: &PollSettings) -> Result<Box<dyn Pull>, PullFlaw> {
    let http = Arc::new(http);
    let accounts = Accounts::new(&poll.accounts, |domain| Mailgun {
        http: Arc::clone(&http),
        domain: domain.to_owned(),
    })?;
    Ok(Box::new(accounts))
}

impl Mailgun {
    fn first(&self, floor: Timestamp) -> Result<Url, PullError> {
        let begin = floor.as_seconds().to_string();
        let query = [
            ("event", "stored"),
            ("begin", begin.as_str()),
            ("ascending", "yes"),
            ("limit", "100"),
        ];
        self.http.place(&["v3", &self.domain, "events"], &query)
    }
}

#[async_trait]
impl Pull for Mailgun {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let walk = Walk::parse(cursor);
        let url = match &walk.at {
            Some(next) => Url::parse(next).ok().ok_or(PullError::Odd)?,
            None => self.first(walk.floor(REACH, now))?,
        };
        let (answer, _) = self.http.list(url).await?;
        let listed = json::list(&answer, &["items"]).ok_or(PullError::Odd)?;
        let items: Vec<Item> = listed.iter().filter_map(item).collect();
        let next = json::text(&answer, &["paging", "next"]).map(str::to_owned);
        walk.step(items, next.filter(|_| !listed.is_empty()), REACH, now)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        let url = item.note.as_str().and_then(|url| Url::parse(url).ok());
        let url = url.ok_or(PullError::Odd)?;
        if !is_within(self.http.base(), &url) {
            return Err(PullError::LeadsAway);
        }
        let answer = match self.http.mail(url, "message/rfc2822").await? {
            Got::Whole(answer) => answer.json()?,
            // Stored messages are kept for a few days.
            Got::Gone => return Ok(Fetched::Gone),
            Got::TooLarge => return Ok(Fetched::TooLarge),
        };
        let raw = json::text(&answer, &["body-mime"]).ok_or(PullError::Odd)?;
        let recipients = json::addresses(&answer, &["recipients"]);
        Ok(Fetched::Mail(Found::raw(&recipients, raw.as_bytes())))
    }

    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        Walk::after_failure(cursor, error)
    }
}

fn item(listed: &Value) -> Option<Item> {
    Some(Item {
        id: json::id(listed, &["id"])?,
        arrived_at: json::at(listed, &["timestamp"]).and_then(moment),
        note: object!(json::text(listed, &["storage", "url"])?),
    })
}
