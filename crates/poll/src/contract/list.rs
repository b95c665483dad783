//! A list of mails by HTTP, as the configuration describes it.
//!
//! List: `poll.list.path` below `api_url`. Items are found at `items`, their id
//! at `id`, their time at `time`; what asks for the next page is found at `next`
//! and goes into the query's `next_field`, or is a whole URL. One: the message is
//! in the item at `raw`, or below `raw_path`. Newest first or oldest first: with
//! times a walk reads to what it knows, without them to ids that it knows.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use providers::{Api, ListSettings, PollSettings, RawForm, moment};
use serde_json::Value;
use url::Url;

use super::{PullFlaw, json};
use crate::http::{Auth, Got, Http};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::recipients::recipients;
use crate::walk::{Reach, Walk};

/// Nothing is known of such a source, so a day must do.
const REACH: Reach = Reach {
    overlap: Duration::from_mins(10),
    lookback: Duration::from_hours(24),
};

pub(super) fn auth(api: &Api, list: &ListSettings) -> Result<Auth, PullFlaw> {
    let Some(name) = &list.key_header else {
        return Ok(Auth::Bearer(api.key.clone()));
    };
    let flaw = PullFlaw::Unfit("poll.list.key_header", "it is no header's name");
    let name = name.parse().ok().ok_or(flaw)?;
    Ok(Auth::Headers(vec![(name, api.key.clone())]))
}

pub(super) struct List {
    http: Http,
    shape: ListSettings,
    deliver_to: Vec<String>,
}

impl List {
    pub(super) fn new(
        http: Http,
        list: &ListSettings,
        poll: &PollSettings,
    ) -> Result<Self, PullFlaw> {
        if list.raw.is_none() && list.raw_path.is_none() {
            return Err(PullFlaw::Missing("poll.list.raw` or `poll.list.raw_path"));
        }
        let shape = list.clone();
        let deliver_to = poll.deliver_to.clone();
        let built = Self {
            http,
            shape,
            deliver_to,
        };
        let why = "it does not stay below `api_url`";
        match built.below(&built.shape.path) {
            Ok(_) => Ok(built),
            Err(_) => Err(PullFlaw::Unfit("poll.list.path", why)),
        }
    }

    /// A path and query below the API.
    fn below(&self, path: &str) -> Result<Url, PullError> {
        let mut base = self.http.base().clone();
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let url = base.join(path.trim_start_matches('/'));
        let url = url.ok().ok_or(PullError::Odd)?;
        let is_below = url.origin() == base.origin() && url.path().starts_with(base.path());
        is_below.then_some(url).ok_or(PullError::LeadsAway)
    }

    fn page(&self, at: Option<&str>) -> Result<Url, PullError> {
        match (at, &self.shape.next_field) {
            (None, _) => self.below(&self.shape.path),
            (Some(token), Some(field)) => {
                let mut url = self.below(&self.shape.path)?;
                url.query_pairs_mut().append_pair(field, token);
                Ok(url)
            }
            (Some(next), None) => self.http.base().join(next).ok().ok_or(PullError::Odd),
        }
    }

    fn item(&self, listed: &Value) -> Option<Item> {
        let time = self.shape.time.as_deref();
        Some(Item {
            id: json::id(listed, &keys(&self.shape.id))?,
            arrived_at: time.and_then(|time| moment(json::at(listed, &keys(time))?)),
            note: listed.clone(),
        })
    }

    async fn message(&self, item: &Item) -> Result<Got, PullError> {
        let id: String = url::form_urlencoded::byte_serialize(item.id.as_bytes()).collect();
        let path = self.shape.raw_path.as_deref().unwrap_or_default();
        let url = self.below(&path.replace("{id}", &id.replace('+', "%20")))?;
        self.http.mail(url, "*/*").await
    }

    fn decoded(&self, text: &[u8]) -> Result<Vec<u8>, PullError> {
        match self.shape.encoding {
            RawForm::Text => Ok(text.to_vec()),
            RawForm::Base64 => {
                let plain = text.iter().filter(|byte| !byte.is_ascii_whitespace());
                let plain: Vec<u8> = plain.copied().collect();
                STANDARD.decode(plain).ok().ok_or(PullError::Odd)
            }
        }
    }
}

#[async_trait]
impl Pull for List {
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError> {
        let walk = Walk::parse(cursor);
        let (answer, _) = self.http.list(self.page(walk.at.as_deref())?).await?;
        let path = self.shape.items.as_deref().map(keys).unwrap_or_default();
        let listed = json::list(&answer, &path).ok_or(PullError::Odd)?;
        let items = listed.iter().filter_map(|listed| self.item(listed));
        let next = self.shape.next.as_deref();
        let next = next.and_then(|next| json::id(&answer, &keys(next)));
        walk.step(items.collect(), next, REACH, now)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        let raw = match &self.shape.raw {
            Some(path) => {
                let text = json::text(&item.note, &keys(path)).ok_or(PullError::Odd)?;
                self.decoded(text.as_bytes())?
            }
            None => match self.message(item).await? {
                Got::Whole(answer) => answer.body,
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
        Ok(Fetched::Mail(Found::raw(&to, &raw)))
    }

    fn after_failure(&self, cursor: &str, error: PullError) -> String {
        Walk::after_failure(cursor, error)
    }
}

fn keys(path: &str) -> Vec<&str> {
    path.split('.').filter(|key| !key.is_empty()).collect()
}
