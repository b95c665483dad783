//! `AgentMail`'s inboxes.
//!
//! List: `GET /v0/inboxes/{inbox}/messages?ascending=true&after=TIME&page_token=…`
//! with all three include options on: verification mails are often taken for spam, and
//! Maillatch decides itself what to trust. One mail:
//! `GET /v0/inboxes/{inbox}/messages/{id}` gives the object that a post holds. It is
//! stored as a post would be, so that a posted and a polled mail become the same message.
//! If it has no text, the original is fetched: `…/raw` answers with a link,
//! `download_url`, which expires and is then requested once more. What `AgentMail` has found
//! out is in the labels, so a message that has such a label is stored as a post even without a
//! text: the worker then fetches the original.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::{PollSettings, moment};
use serde_json::{Value, json as object};
use url::Url;

use super::accounts::Accounts;
use super::json;
use crate::client::http::{Got, Http};
use crate::client::list_cursor::{ListCursor, LookBack};
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};
use crate::flaw::PollFlaw;

/// Webhooks are retried for 27.6 hours.
const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_mins(10),
    first: Duration::from_hours(28),
};

/// The labels of mail that `AgentMail` distrusts.
const CLASSES: [&str; 3] = ["unauthenticated", "spam", "blocked"];

/// One inbox.
struct AgentMail {
    http: std::sync::Arc<Http>,
    inbox: String,
}

pub(super) fn build(http: Http, poll: &PollSettings) -> Result<Box<dyn SourceClient>, PollFlaw> {
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

    async fn original(&self, id: &str) -> Result<Fetched, PollError> {
        for _ in 0..2 {
            let url = self.http.url(&self.path(&[id, "raw"]), &[])?;
            let about = match self.http.mail(url, "application/json").await? {
                Got::Complete(answer) => answer.json()?,
                Got::Gone => return Ok(Fetched::Gone),
                Got::TooLarge => return Err(PollError::UnexpectedAnswer),
            };
            let link = json::text(&about, &["download_url"]).ok_or(PollError::UnexpectedAnswer)?;
            let link = Url::parse(link).ok().ok_or(PollError::UnexpectedAnswer)?;
            match self.http.mail(link, "*/*").await? {
                Got::Complete(answer) if !self.http.is_too_large(&answer.body) => {
                    let inbox = std::slice::from_ref(&self.inbox);
                    return Ok(Fetched::Mail(FoundMail::raw(inbox, &answer.body)));
                }
                Got::Complete(_) | Got::TooLarge => return Ok(Fetched::TooLarge),
                // The link has expired.
                Got::Gone => {}
            }
        }
        Err(PollError::Unavailable)
    }
}

#[async_trait]
impl SourceClient for AgentMail {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let position = ListCursor::parse(cursor);
        let after = position.floor(LOOK_BACK, now).to_string();
        let mut query = vec![
            ("ascending", "true"),
            ("limit", "100"),
            ("after", after.as_str()),
            ("include_spam", "true"),
            ("include_blocked", "true"),
            ("include_unauthenticated", "true"),
        ];
        if let Some(token) = &position.page {
            query.push(("page_token", token));
        }
        let url = self.http.url(&self.path(&[]), &query)?;
        let (answer, _) = self.http.list(url).await?;
        let listed = json::list(&answer, &["messages"]).ok_or(PollError::UnexpectedAnswer)?;
        let items = listed.iter().filter_map(|listed| item(&self.inbox, listed));
        let next = json::text(&answer, &["next_page_token"]).map(str::to_owned);
        position.take_page(items.collect(), next, LOOK_BACK, now)
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let id = item.note.as_str().ok_or(PollError::UnexpectedAnswer)?;
        let url = self.http.url(&self.path(&[id]), &[])?;
        let mut message = match self.http.mail(url, "application/json").await? {
            Got::Complete(answer) => answer.json()?,
            Got::Gone => return Ok(Fetched::Gone),
            Got::TooLarge => return self.original(id).await,
        };
        let has_text = ["text", "html"]
            .iter()
            .any(|part| json::text(&message, &[part]).is_some());
        if !has_text && !CLASSES.iter().any(|class| has_label(&message, class)) {
            return self.original(id).await;
        }
        let fields = message.as_object_mut().ok_or(PollError::UnexpectedAnswer)?;
        fields.insert("inbox_id".to_owned(), object!(self.inbox));
        let event = object!({ "event_type": "message.received", "message": message });
        Ok(Fetched::Mail(FoundMail::post(&event)))
    }

    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        ListCursor::after_failure(cursor, error)
    }
}

/// A listed message; sent messages are left out. The id is the mail's own, which two
/// inboxes may share, so the inbox is part of ours.
fn item(inbox: &str, listed: &Value) -> Option<ListedMail> {
    if has_label(listed, "sent") && !has_label(listed, "received") {
        return None;
    }
    let id = json::id(listed, &["message_id"])?;
    let at = json::at(listed, &["timestamp"]).or_else(|| json::at(listed, &["created_at"]));
    Some(ListedMail {
        id: format!("{inbox} {id}"),
        arrived_at: at.and_then(moment),
        note: object!(id),
    })
}

fn has_label(message: &Value, label: &str) -> bool {
    let labels = json::list(message, &["labels"]).map_or(&[][..], Vec::as_slice);
    labels.iter().any(|one| one.as_str() == Some(label))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use providers::{Decoded, SenderVerdict, SourceSettings, Sources};
    use testkit::api::{Api, ok};

    use super::*;
    use crate::client::http::Auth;

    /// What a worker reads from a polled message.
    async fn polled(message: Value) -> Decoded {
        let api = Api::start().await;
        api.on(
            "/v0/inboxes/x@y.test/messages/1",
            vec![ok(message.to_string())],
        );
        let _ = rustls::crypto::ring::default_provider().install_default();
        let base = Url::parse(&api.url).unwrap();
        let http = Http::new(base, Auth::Bearer("the-key".into()), 10_000).unwrap();
        let mut source = AgentMail {
            http: std::sync::Arc::new(http),
            inbox: "x@y.test".to_owned(),
        };
        let item = ListedMail {
            id: "1".to_owned(),
            arrived_at: None,
            note: object!("1"),
        };
        let Ok(Fetched::Mail(found)) = source.fetch(&item).await else {
            panic!("no mail");
        };
        let settings = SourceSettings {
            provider: "agentmail".to_owned(),
            secrets: vec![
                secrecy::SecretString::from("whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz")
                    .into(),
            ],
            ..SourceSettings::default()
        };
        let sources = Sources::build(BTreeMap::from([("main".to_owned(), settings)])).unwrap();
        let decoded = sources.decode("main", found.content_type, &found.body);
        decoded.unwrap().unwrap()
    }

    #[tokio::test]
    async fn polled_mail_that_is_unauthenticated_is_refuted_with_and_without_a_text() {
        let refuted = Some(SenderVerdict::Refuted);
        let labels = object!(["received", "unauthenticated"]);
        let message = |text: Value| object!({ "message_id": "<1@b>", "to": [], "labels": labels, "text": text });
        match polled(message(object!("Your code is 493817"))).await {
            Decoded::Mails(mails) => assert_eq!(mails[0].sender, refuted),
            other => panic!("{other:?}"),
        }
        match polled(message(Value::Null)).await {
            Decoded::RemoteMail(mail) => assert_eq!(mail.sender, refuted),
            other => panic!("{other:?}"),
        }
    }
}
