//! A mail as it reads under each allowlist that somebody waits with. Mostly that
//! is one, and then the mail is read once.

use std::sync::Arc;

use extract::{Allowlist, Extracted, Policy};
use pipeline::Reason;

use crate::contain::{self, Read};
use crate::failure::Failure;
use crate::settings::Settings;

/// A mail is read no more often than this. Whoever waits beyond that gets nothing of
/// it: by another list than its own it might get what it must not.
const MOST_READINGS: usize = 16;

/// The readings of one mail, by allowlist.
pub(crate) struct Readings {
    raw: Arc<Vec<u8>>,
    /// By the operator's own list.
    first: Box<Extracted>,
    /// By the lists that were named.
    named: Vec<(Vec<String>, Box<Extracted>)>,
}

impl Readings {
    /// Reads a mail by the operator's own list.
    pub(crate) async fn begin(settings: &Settings, raw: Vec<u8>) -> Result<Self, Failure> {
        let raw = Arc::new(raw);
        let first = read(settings, &raw, settings.policy.clone()).await?;
        let named = Vec::new();
        Ok(Self { raw, first, named })
    }

    /// Reads it once more, by another list, if that was not done yet.
    pub(crate) async fn add(
        &mut self,
        settings: &Settings,
        links: &[String],
    ) -> Result<(), Failure> {
        let is_known = self.named.iter().any(|(known, _)| known == links);
        if is_known || self.named.len() >= MOST_READINGS {
            return Ok(());
        }
        // Lists are checked when they are named. One that is refused today was
        // taken by another version, and the operator's own stands in for it.
        let policy = match Allowlist::parse(links) {
            Ok(links) => Policy { links },
            Err(_) => settings.policy.clone(),
        };
        let extracted = read(settings, &self.raw, policy).await?;
        self.named.push((links.to_vec(), extracted));
        Ok(())
    }

    /// The mail itself.
    pub(crate) fn raw(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.raw)
    }

    /// How it reads by the operator's own list.
    pub(crate) fn first(&self) -> &Extracted {
        &self.first
    }

    /// How it reads by a list, the operator's own when none is named; nothing when it
    /// was not read by that one.
    pub(crate) fn by(&self, links: Option<&Vec<String>>) -> Option<&Extracted> {
        let Some(links) = links else {
            return Some(&self.first);
        };
        let mut named = self.named.iter();
        let reading = named.find(|(known, _)| known == links);
        reading.map(|(_, reading)| &**reading)
    }
}

async fn read(
    settings: &Settings,
    raw: &Arc<Vec<u8>>,
    policy: Policy,
) -> Result<Box<Extracted>, Failure> {
    let permanent = |slug| Err(Failure::permanent(Reason::new(slug)));
    match contain::read(Arc::clone(raw), Arc::new(policy), settings.parse_budget).await {
        Read::Mail(extracted) => Ok(extracted),
        Read::Refused(refusal) => permanent(refusal.reason()),
        Read::Panicked => permanent("parser_panicked"),
        Read::TooSlow => permanent("parser_too_slow"),
        Read::NoThread => Err(Failure::transient(Reason::new("no_thread"))),
    }
}
