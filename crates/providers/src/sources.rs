//! Every configured source, by name.

use std::collections::BTreeMap;

use pipeline::SourceName;

use crate::contract::pulled::is_pulled;
use crate::contract::{Contract, contracts, s3_place};
use crate::gate::Gate;
use crate::key::KeyError;
use crate::polled::{self, POLLED};
use crate::settings::Knob;
use crate::{Api, DecodeError, Decoded, Scope, Source, SourceSettings};

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

/// What is wrong with a source's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceFlaw {
    /// Its name cannot be part of a path.
    #[error("a source name is 1 to 40 of a-z, 0-9, `-` and `_`")]
    Name,
    /// We do not know its provider.
    #[error("unknown provider `{0}`; known are: {known}", known = known())]
    Provider(String),
    /// Its provider takes no such setting.
    #[error("`{0}` means nothing to this provider")]
    Unfit(&'static str),
    /// Its provider needs a setting that is not set.
    #[error("`{0}` must be set for this provider")]
    Missing(&'static str),
    /// A setting has a form that cannot be used.
    #[error("`{0}` cannot be used")]
    Unusable(&'static str),
    /// Its secrets are of no use.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its public key is of no use.
    #[error("`public_key` is {0}")]
    PublicKey(&'static str),
    /// Its tolerance is out of bounds.
    #[error("`tolerance_seconds` is {least} to {most}")]
    Tolerance {
        /// The least that may be set.
        least: u64,
        /// The most that may be set.
        most: u64,
    },
    /// Its scheme contradicts itself.
    #[error("in `scheme`, {0}")]
    Scheme(&'static str),
    /// It has a name without a password, or a password without a name.
    #[error("`username` and `password` are set together")]
    HalfBasicAuth,
    /// Its password can be guessed.
    #[error("`password` and `url_token` have at least {0} bytes")]
    ShortPassword(usize),
    /// Nothing would prove its posts.
    #[error("nothing proves its posts: set `username` and `password`, or `url_token`")]
    Unproven,
}

fn known() -> String {
    let names: Vec<&str> = contracts().map(|contract| contract.name).collect();
    names.join(", ")
}

/// Every configured source, by name.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<String, Source>);

impl Sources {
    /// Checks every source's settings; one that cannot work refuses them all,
    /// because a source that silently drops out loses mail.
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

    /// Reads the mail out of a delivery of the source of this name. What was
    /// found by polling says itself how to be read; for a post the source must
    /// be known.
    pub fn decode(
        &self,
        name: &str,
        content_type: &str,
        body: &[u8],
    ) -> Option<Result<Decoded, DecodeError>> {
        if content_type == POLLED {
            return Some(polled::decode(body).map(Decoded::mail));
        }
        Some(self.get(name)?.decode(content_type, body))
    }

    /// Every source, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.values()
    }
}

fn build(name: &str, settings: &SourceSettings) -> Result<Source, SourceFlaw> {
    let name: SourceName = name.parse().ok().ok_or(SourceFlaw::Name)?;
    let contract = contracts()
        .find(|contract| contract.name == settings.provider)
        .ok_or_else(|| SourceFlaw::Provider(settings.provider.clone()))?;
    if let Some(unfit) = settings.set().find(|knob| !contract.knobs.contains(knob)) {
        return Err(SourceFlaw::Unfit(unfit.name()));
    }
    let gate = Gate::build(settings)?;
    if !gate.is_shut() && !is_signed(contract, settings) && !is_pulled(contract) {
        return Err(SourceFlaw::Unproven);
    }
    Ok(Source {
        provider: (contract.build)(settings)?,
        name,
        contract,
        gate,
        api: api(contract, settings),
        domains: settings
            .domains
            .iter()
            .map(|domain| domain.to_ascii_lowercase())
            .collect(),
    })
}

/// The provider's API, when there is a key to it.
fn api(contract: &Contract, settings: &SourceSettings) -> Option<Api> {
    if let Some(s3) = &settings.s3 {
        let topic = settings.topics.first()?;
        let (region, usual) = s3_place(topic, s3.region.as_deref())?;
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

/// Whether a post of such a source carries a signature. A provider with secrets
/// or topics refuses to be built without one; one with a public key alone may go without.
fn is_signed(contract: &Contract, settings: &SourceSettings) -> bool {
    let needs_one = [Knob::Secrets, Knob::Topics];
    needs_one.iter().any(|knob| contract.knobs.contains(knob)) || settings.public_key.is_some()
}
