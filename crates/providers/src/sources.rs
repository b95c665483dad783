//! Every configured source, by name.

use std::collections::BTreeMap;

use pipeline::SourceName;

use crate::key::KeyError;
use crate::source::Provider;
use crate::standard_webhooks::{self, StandardWebhooks};
use crate::{Source, SourceSettings};

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
    #[error("unknown provider `{0}`; known are: {known}", known = KNOWN.join(", "))]
    Provider(String),
    /// Its secrets are of no use.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its tolerance is out of bounds.
    #[error("`tolerance_seconds` is {least} to {most}", least = .least, most = .most)]
    Tolerance {
        /// The least that may be set.
        least: u64,
        /// The most that may be set.
        most: u64,
    },
}

const KNOWN: [&str; 1] = [standard_webhooks::NAME];

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

    /// Every source, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.values()
    }
}

fn build(name: &str, settings: &SourceSettings) -> Result<Source, SourceFlaw> {
    let name: SourceName = name.parse().ok().ok_or(SourceFlaw::Name)?;
    let provider: Box<dyn Provider> = match settings.provider.as_str() {
        standard_webhooks::NAME => Box::new(StandardWebhooks::build(settings)?),
        other => return Err(SourceFlaw::Provider(other.to_owned())),
    };
    Ok(Source::new(name, provider))
}
