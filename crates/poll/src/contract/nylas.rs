//! Nylas v3, by grant.
//!
//! List: `GET /v3/grants/{grant}/messages?limit=50&received_after=…&page_token=…`,
//! newest first, `next_cursor`. Its objects are those of the webhook and hold the
//! body, so a mail is kept as the webhook would have carried it and both lead to
//! the same message; one without a body is the original, `fields=raw_mime`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use pipeline::Timestamp;
use providers::{PollSettings, moment};
use serde_json::{Value, json as object};

use super::accounts::Accounts;
use super::{PullFlaw, json};
use crate::http::{Got, Http};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::walk::{Reach, Walk};

/// Webhooks are tried again for 20 minutes; mailboxes are behind them by some.
const REACH: Reach = Reach {
    overlap: Duration::from_mins(10),
    lookback: Duration::from_hours(1),
};

/// One grant.
struct Nylas {
    http: Arc<Http>,
    grant: String,
}

pub(super) fn build(http: Http, poll: &PollSettings) -> Result<Box<dyn Pull>, PullFlaw> {
    let http = Arc::new(http);
    let accounts = Accounts::new(&poll.accounts, |grant| Nylas {
        http: Arc::clone(&http),
        grant: grant.to_owned(),
    })?;
    Ok(Box::new(accounts))
}

impl Nylas {
    async fn original(&self, message: &Value) -> Result<Fetched, PullError> {
        let id = json::id(message, &["id"]).ok_or(PullError::Odd)?;
        let path = ["v3", "grants", &self.grant, "messages", &id];
        let url = self.http.place(&path, &[("fields", "raw_mime")])?;
        let answer = match self.http.mail(url, "application/json").await? {
            Got::Whole(answer) => answer.json()?,
            Got::Gone => return Ok(Fetched::Gone),
            Got::TooLarge => return Ok(Fetched::TooLarge),
        };
        let text = json::text(&answer, &["data", "raw_mime"]).ok_or(PullError::Odd)?;
        let raw = URL_SAFE_NO_PAD
            .decode(text)
            .or_else(|_| URL_SAFE.decode(text));
        let raw = raw.ok().ok_or(PullError::Odd)?;
        let people = json::list(message, &["to"]).map_or(&[][..], Vec::as_slice);
        let to = people.iter().filter_map(|one| json::text(one, &["email"]));
        let recipients: Vec<String> = to.map(str::to_owned).collect();
        Ok(Fetched::Mail(Found::raw(&recipients, &raw)))
    }
}

#[async_trait]
impl Pull for Nylas {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let walk = Walk::parse(cursor);
        let after = walk.floor(REACH, now).as_seconds().to_string();
        let mut query = vec![("limit", "50"), ("received_after", after.as_str())];
        if let Some(token) = &walk.at {
            query.push(("page_token", token));
        }
        let path = ["v3", "grants", &self.grant, "messages"];
        let (answer, _) = self.http.list(self.http.place(&path, &query)?).await?;
        let listed = json::list(&answer, &["data"]).ok_or(PullError::Odd)?;
        let items = listed.iter().filter_map(|listed| item(&self.grant, listed));
        let next = json::text(&answer, &["next_cursor"]).map(str::to_owned);
        walk.step(items.collect(), next, REACH, now)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        if json::text(&item.note, &["body"]).is_none() {
            return self.original(&item.note).await;
        }
        let event = object!({
            "type": "message.created",
            "id": item.id,
            "data": { "object": item.note },
        });
        Ok(Fetched::Mail(Found::post(&event)))
    }

    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        Walk::after_failure(cursor, error)
    }
}

fn item(grant: &str, listed: &Value) -> Option<Item> {
    let mut note = listed.clone();
    let id = json::id(listed, &["id"])?;
    note.as_object_mut()?
        .insert("grant_id".to_owned(), object!(grant));
    Some(Item {
        id: format!("{grant} {id}"),
        arrived_at: json::at(listed, &["date"]).and_then(moment),
        note,
    })
}
