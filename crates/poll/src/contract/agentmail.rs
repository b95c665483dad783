//! `AgentMail`'s inboxes.
//!
//! List: `GET /v0/inboxes/{inbox}/messages?ascending=true&after=TIME&page_token=…`
//! with the three include switches on: a verification mail is often taken for
//! spam, and what is to be trusted is decided here and not there. One:
//! `GET /v0/inboxes/{inbox}/messages/{id}`, the object that the webhook carries,
//! kept as the webhook would have carried it, so that both lead to the same
//! message; without text it is the original, to which `…/raw` answers with a link,
//! `download_url`, that expires and is then asked for once more.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::{PollSettings, moment};
use serde_json::{Value, json as object};
use url::Url;

use super::accounts::Accounts;
use super::{PullFlaw, json};
use crate::http::{Got, Http};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::walk::{Reach, Walk};

/// Webhooks are tried again for 27.6 hours.
const REACH: Reach = Reach {
    overlap: Duration::from_mins(10),
    lookback: Duration::from_hours(28),
};

/// One inbox.
struct AgentMail {
    http: std::sync::Arc<Http>,
    inbox: String,
}

pub(super) fn build(http: Http, poll: &PollSettings) -> Result<Box<dyn Pull>, PullFlaw> {
    let http = std::sync::Arc::new(http);
    let accounts = Accounts::new(&poll.accounts, |inbox| AgentMail {
        http: std::sync::Arc::clone(&http),
        inbox: inbox.to_owned(),
    })?;
    Ok(Box::new(accounts))
}

impl AgentMail {
    fn path<'p>(&'p self, rest: &[&'p str]) -> Vec<&'p str> {
        let mut path = vec!["v0", "inboxes", self.inbox.as_str(), "messages"];
        path.extend(rest);
        path
    }

    async fn original(&self, id: &str) -> Result<Fetched, PullError> {
        for _ in 0..2 {
            let url = self.http.place(&self.path(&[id, "raw"]), &[])?;
            let about = match self.http.mail(url, "application/json").await? {
                Got::Whole(answer) => answer.json()?,
                Got::Gone => return Ok(Fetched::Gone),
                Got::TooLarge => return Err(PullError::Odd),
            };
            let link = json::text(&about, &["download_url"]).ok_or(PullError::Odd)?;
            let link = Url::parse(link).ok().ok_or(PullError::Odd)?;
            match self.http.mail(link, "*/*").await? {
                Got::Whole(answer) if !self.http.is_too_large(&answer.body) => {
                    let inbox = std::slice::from_ref(&self.inbox);
                    return Ok(Fetched::Mail(Found::raw(inbox, &answer.body)));
                }
                Got::Whole(_) | Got::TooLarge => return Ok(Fetched::TooLarge),
                // The link has expired.
                Got::Gone => {}
            }
        }
        Err(PullError::Away)
    }
}

#[async_trait]
impl Pull for AgentMail {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let walk = Walk::parse(cursor);
        let after = walk.floor(REACH, now).to_string();
        let mut query = vec![
            ("ascending", "true"),
            ("limit", "100"),
            ("after", after.as_str()),
            ("include_spam", "true"),
            ("include_blocked", "true"),
            ("include_unauthenticated", "true"),
        ];
        if let Some(token) = &walk.at {
            query.push(("page_token", token));
        }
        let url = self.http.place(&self.path(&[]), &query)?;
        let (answer, _) = self.http.list(url).await?;
        let listed = json::list(&answer, &["messages"]).ok_or(PullError::Odd)?;
        let items = listed.iter().filter_map(|listed| item(&self.inbox, listed));
        let next = json::text(&answer, &["next_page_token"]).map(str::to_owned);
        walk.step(items.collect(), next, REACH, now)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        let id = item.note.as_str().ok_or(PullError::Odd)?;
        let url = self.http.place(&self.path(&[id]), &[])?;
        let mut message = match self.http.mail(url, "application/json").await? {
            Got::Whole(answer) => answer.json()?,
            Got::Gone => return Ok(Fetched::Gone),
            Got::TooLarge => return self.original(id).await,
        };
        let has_text = ["text", "html"]
            .iter()
            .any(|part| json::text(&message, &[part]).is_some());
        if !has_text {
            return self.original(id).await;
        }
        let fields = message.as_object_mut().ok_or(PullError::Odd)?;
        fields.insert("inbox_id".to_owned(), object!(self.inbox));
        let event = object!({ "event_type": "message.received", "message": message });
        Ok(Fetched::Mail(Found::post(&event)))
    }

    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        Walk::after_failure(cursor, error)
    }
}

/// A listed message; the ones that the inbox itself has sent are left out. The
/// id is the mail's own, which two inboxes may share.
fn item(inbox: &str, listed: &Value) -> Option<Item> {
    let labels = json::list(listed, &["labels"]).map_or(&[][..], Vec::as_slice);
    let has = |label: &str| labels.iter().any(|one| one.as_str() == Some(label));
    if has("sent") && !has("received") {
        return None;
    }
    let id = json::id(listed, &["message_id"])?;
    let at = json::at(listed, &["timestamp"]).or_else(|| json::at(listed, &["created_at"]));
    Some(Item {
        id: format!("{inbox} {id}"),
        arrived_at: at.and_then(moment),
        note: object!(id),
    })
}
