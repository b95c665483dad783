//! An HTTP list of mails, as the configuration describes it.
//!
//! List: `poll.list.path` below `api_url`. The items are at `items`, their ids at `id`,
//! their times at `time`. The cursor of the next page is at `next` and goes into the query
//! field `next_field`, or is a URL. One mail: in the item at `raw`, or below `raw_path`.
//! With times a pass ends at the mark; without times it ends at a known id.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use providers::{Api, ListSettings, PollSettings, RawForm, moment};
use serde_json::Value;
use url::Url;

use super::json;
use crate::client::http::{Auth, Got, Http};
use crate::client::list_cursor::{ListCursor, LookBack};
use crate::client::recipients::recipients;
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};
use crate::flaw::PollFlaw;

/// How long such a source retries is not known; a day is assumed.
const LOOK_BACK: LookBack = LookBack {
    overlap: Duration::from_mins(10),
    first: Duration::from_hours(24),
};

pub(super) fn auth(api: &Api, list: &ListSettings) -> Result<Auth, PollFlaw> {
    let Some(name) = &list.key_header else {
        return Ok(Auth::Bearer(api.key.clone()));
    };
    let flaw = PollFlaw::Unfit("poll.list.key_header", "it is not a header name");
    let name = name.parse().ok().ok_or(flaw)?;
    Ok(Auth::Headers(vec![(name, api.key.clone())]))
}

pub(super) struct HttpList {
    http: Http,
    shape: ListSettings,
    deliver_to: Vec<String>,
}

impl HttpList {
    pub(super) fn new(
        http: Http,
        list: &ListSettings,
        poll: &PollSettings,
    ) -> Result<Self, PollFlaw> {
        if list.raw.is_none() && list.raw_path.is_none() {
            return Err(PollFlaw::Missing("poll.list.raw` or `poll.list.raw_path"));
        }
        let shape = list.clone();
        let deliver_to = poll.deliver_to.clone();
        let built = Self {
            http,
            shape,
            deliver_to,
        };
        let why = "it is not below `api_url`";
        match built.below(&built.shape.path) {
            Ok(_) => Ok(built),
            Err(_) => Err(PollFlaw::Unfit("poll.list.path", why)),
        }
    }

    /// A path and query below the API.
    fn below(&self, path: &str) -> Result<Url, PollError> {
        let mut base = self.http.base().clone();
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let url = base.join(path.trim_start_matches('/'));
        let url = url.ok().ok_or(PollError::UnexpectedAnswer)?;
        let is_below = url.origin() == base.origin() && url.path().starts_with(base.path());
        is_below.then_some(url).ok_or(PollError::ForeignHost)
    }

    fn page(&self, cursor: Option<&str>) -> Result<Url, PollError> {
        match (cursor, &self.shape.next_field) {
            (None, _) => self.below(&self.shape.path),
            (Some(token), Some(field)) => {
                let mut url = self.below(&self.shape.path)?;
                url.query_pairs_mut().append_pair(field, token);
                Ok(url)
            }
            (Some(next), None) => self
                .http
                .base()
                .join(next)
                .ok()
                .ok_or(PollError::UnexpectedAnswer),
        }
    }

    fn item(&self, listed: &Value) -> Option<ListedMail> {
        let time = self.shape.time.as_deref();
        Some(ListedMail {
            id: json::id(listed, &keys(&self.shape.id))?,
            arrived_at: time.and_then(|time| moment(json::at(listed, &keys(time))?)),
            note: listed.clone(),
        })
    }

    async fn message(&self, item: &ListedMail) -> Result<Got, PollError> {
        let id: String = url::form_urlencoded::byte_serialize(item.id.as_bytes()).collect();
        let path = self.shape.raw_path.as_deref().unwrap_or_default();
        let url = self.below(&path.replace("{id}", &id.replace('+', "%20")))?;
        self.http.mail(url, "*/*").await
    }

    fn decoded(&self, text: &[u8]) -> Result<Vec<u8>, PollError> {
        match self.shape.encoding {
            RawForm::Text => Ok(text.to_vec()),
            RawForm::Base64 => {
                let plain = text.iter().filter(|byte| !byte.is_ascii_whitespace());
                let plain: Vec<u8> = plain.copied().collect();
                STANDARD
                    .decode(plain)
                    .ok()
                    .ok_or(PollError::UnexpectedAnswer)
            }
        }
    }
}

#[async_trait]
impl SourceClient for HttpList {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let position = ListCursor::parse(cursor);
        let (answer, _) = self.http.list(self.page(position.page.as_deref())?).await?;
        let path = self.shape.items.as_deref().map(keys).unwrap_or_default();
        let listed = json::list(&answer, &path).ok_or(PollError::UnexpectedAnswer)?;
        let items = listed.iter().filter_map(|listed| self.item(listed));
        let next = self.shape.next.as_deref();
        let next = next.and_then(|next| json::id(&answer, &keys(next)));
        position.take_page(items.collect(), next, LOOK_BACK, now)
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let raw = match &self.shape.raw {
            Some(path) => {
                let text =
                    json::text(&item.note, &keys(path)).ok_or(PollError::UnexpectedAnswer)?;
                self.decoded(text.as_bytes())?
            }
            None => match self.message(item).await? {
                Got::Complete(answer) => answer.body,
                Got::Gone => return Ok(Fetched::Gone),
                Got::TooLarge => return Ok(Fetched::TooLarge),
            },
        };
        if self.http.is_too_large(&raw) {
            return Ok(Fetched::TooLarge);
        }
        let listed = self.shape.recipients.as_deref();
        let listed = listed.map(|path| json::addresses(&item.note, &keys(path)));
        let to = match listed {
            _ if !self.deliver_to.is_empty() => self.deliver_to.clone(),
            Some(listed) => listed,
            None => recipients(&raw),
        };
        Ok(Fetched::Mail(FoundMail::raw(&to, &raw)))
    }

    fn after_failure(&self, cursor: &str, error: PollError) -> String {
        ListCursor::after_failure(cursor, error)
    }
}

fn keys(path: &str) -> Vec<&str> {
    path.split('.').filter(|key| !key.is_empty()).collect()
}
