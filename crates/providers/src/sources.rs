//! Every configured source, by name.

use std::collections::BTreeMap;

use pipeline::SourceName;

use crate::api::Api;
use crate::api::aws_signature::Scope;
use crate::contract::Contract;
use crate::contract::polling::InboxSetting;
use crate::flaw::SourceFlaw;
use crate::payload::{DecodeError, Decoded, addressed_message};
use crate::provider::{contract, contracts, s3_url};
use crate::settings::{Setting, SourceSettings};
use crate::source::Source;
use crate::source::access::AccessRules;
use crate::source::addressees::Addressees;

/// The configured sources cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("source `{source_name}` cannot be used")]
pub struct SourceError {
    /// The name as configured.
    pub source_name: String,
    /// What is wrong with it.
    #[source]
    pub flaw: SourceFlaw,
}

/// Every configured source, by name.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<String, Source>);

impl Sources {
    /// Checks the settings of every source. One invalid source refuses all of them,
    /// because a source that is silently left out loses mail.
    pub fn build(settings: BTreeMap<String, SourceSettings>) -> Result<Self, SourceError> {
        let mut sources = BTreeMap::new();
        for (name, settings) in settings {
            match build(&name, &settings) {
                Ok(source) => sources.insert(name, source),
                Err(flaw) => {
                    return Err(SourceError {
                        source_name: name,
                        flaw,
                    });
                }
            };
        }
        Ok(Self(sources))
    }

    /// The source of this name.
    pub fn get(&self, name: &str) -> Option<&Source> {
        self.0.get(name)
    }

    /// Reads the mail out of a delivery of the source of this name. A delivery that
    /// polling found has a format of its own; for a post the source must be configured.
    pub fn decode(
        &self,
        name: &str,
        content_type: &str,
        body: &[u8],
    ) -> Option<Result<Decoded, DecodeError>> {
        match addressed_message::polled(content_type, body) {
            Some(polled) => Some(polled),
            None => Some(self.get(name)?.decode(content_type, body)),
        }
    }

    /// Every source, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.values()
    }
}

fn build(name: &str, settings: &SourceSettings) -> Result<Source, SourceFlaw> {
    let name: SourceName = name.parse().ok().ok_or(SourceFlaw::Name)?;
    let contract = contract(&settings.provider).ok_or_else(|| unknown(&settings.provider))?;
    if let Some(unfit) = settings.set().find(|one| !contract.takes.contains(one)) {
        return Err(SourceFlaw::Unfit(unfit.name()));
    }
    let access = AccessRules::build(settings)?;
    let is_proven = access.needs_password() || is_signed(contract, settings);
    if !is_proven && !contract.is_poll_only() {
        return Err(SourceFlaw::Unproven);
    }
    Ok(Source {
        provider: (contract.build)(settings)?,
        name,
        contract,
        access,
        api: api(contract, settings),
        domains: settings
            .domains
            .iter()
            .map(|domain| domain.to_ascii_lowercase())
            .collect(),
        addressees: Addressees::build(&settings.addressed_to)?,
        has_fixed_inboxes: has_fixed_inboxes(contract, settings),
    })
}

/// Whether the mail of such a source goes to addresses that its settings or its provider
/// name, and to no other address of its domains.
fn has_fixed_inboxes(contract: &Contract, settings: &SourceSettings) -> bool {
    let inboxes = contract.polling.map(|polling| polling.inboxes);
    let poll = settings.poll.as_ref();
    let delivers_to = poll.is_some_and(|poll| !poll.deliver_to.is_empty());
    inboxes == Some(InboxSetting::Accounts)
        || settings.recipient.is_some()
        || (contract.is_poll_only() && delivers_to)
}

fn unknown(provider: &str) -> SourceFlaw {
    let known: Vec<&str> = contracts().map(|contract| contract.name).collect();
    SourceFlaw::Provider {
        name: provider.to_owned(),
        known: known.join(", "),
    }
}

/// The provider's API, if there is a key to it.
fn api(contract: &Contract, settings: &SourceSettings) -> Option<Api> {
    if let Some(s3) = &settings.s3 {
        let topic = settings.topics.first()?;
        let (region, usual) = s3_url(topic, s3.region.as_deref())?;
        let access_key = s3.access_key.clone();
        return Some(Api {
            url: s3.url.clone().unwrap_or(usual),
            key: s3.secret_key.clone(),
            scope: Some(Scope { access_key, region }),
        });
    }
    let key = settings.api_key.clone()?;
    let url = settings.api_url.as_deref().or(contract.api)?.to_owned();
    let scope = None;
    Some(Api { url, key, scope })
}

/// Whether the posts of such a source are signed. A provider that takes secrets or
/// topics needs them; one that only takes a public key can do without.
fn is_signed(contract: &Contract, settings: &SourceSettings) -> bool {
    let needs_one = [Setting::Secrets, Setting::Topics];
    needs_one.iter().any(|one| contract.takes.contains(one)) || settings.public_key.is_some()
}
