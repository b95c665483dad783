//! What is known of each kind of source that can be polled: one file each, and
//! the way from the configuration to them.

mod accounts;
mod agentmail;
mod eastern;
pub(crate) mod folder;
mod imap;
mod json;
mod list;
mod mailgun;
mod mailhook;
mod nylas;
mod postmark;
mod resend;

use std::collections::BTreeMap;
use std::time::Duration;

use pipeline::SourceName;
use providers::{Api, PollSettings, SourceSettings, Sources};
use url::Url;

use crate::carried::Carried;
use crate::http::{Auth, Http, api_url};
use crate::pull::Pull;
use crate::settings::Settings;

/// The configured polling cannot be done.
#[derive(Debug, thiserror::Error)]
#[error("source `{source_name}` cannot be polled")]
pub struct PullsError {
    /// The source's name.
    pub source_name: String,
    /// What is wrong with its settings.
    #[source]
    pub flaw: PullFlaw,
}

/// What is wrong with a source's `poll` settings.
#[derive(Debug, thiserror::Error)]
pub enum PullFlaw {
    /// Its provider has nothing that could be asked.
    #[error("this provider cannot be polled")]
    NoPolling,
    /// A setting is missing.
    #[error("`{0}` must be set for this provider to be polled")]
    Missing(&'static str),
    /// A setting is of no use.
    #[error("`{0}` cannot be used: {1}")]
    Unfit(&'static str, &'static str),
    /// No client could be built.
    #[error("failed to build a client")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A source that is polled.
pub(crate) struct Pulled {
    pub(crate) source: SourceName,
    pub(crate) pull: Box<dyn Pull>,
    /// How often it is asked without a reason.
    pub(crate) every: Duration,
    /// Whose mail it may have.
    pub(crate) carried: Carried,
    /// Whether nothing else brings its mail.
    pub(crate) is_only_way: bool,
}

/// Every source that is polled.
pub struct Pulls(Vec<Pulled>);

impl Pulls {
    /// Checks the polling of every source that is to be polled.
    pub fn build(
        configured: &BTreeMap<String, SourceSettings>,
        sources: &Sources,
        settings: &Settings,
    ) -> Result<Self, PullsError> {
        let mut pulls = Vec::new();
        for (name, source) in configured {
            let (Some(wanted), Some(built)) = (&source.poll, sources.get(name)) else {
                continue;
            };
            let pull = build(&source.provider, wanted, built.api(), settings);
            let pull = pull.map_err(|flaw| PullsError {
                source_name: name.clone(),
                flaw,
            })?;
            pulls.push(Pulled {
                source: built.name().clone(),
                pull,
                every: wanted
                    .every_seconds
                    .map_or(settings.every, Duration::from_secs),
                carried: Carried::of(built, source),
                is_only_way: is_only_way(&source.provider),
            });
        }
        Ok(Self(pulls))
    }

    /// The names of the polled sources.
    pub fn names(&self) -> impl Iterator<Item = &SourceName> {
        self.0.iter().map(|pulled| &pulled.source)
    }

    pub(crate) fn into_sources(self) -> Vec<Pulled> {
        self.0
    }
}

fn is_only_way(provider: &str) -> bool {
    matches!(provider, "folder" | "http-list" | "imap")
}

fn build(
    provider: &str,
    poll: &PollSettings,
    api: Option<&Api>,
    settings: &Settings,
) -> Result<Box<dyn Pull>, PullFlaw> {
    let limit = settings.message_limit;
    let http = |auth: fn(&Api) -> Auth| -> Result<Http, PullFlaw> {
        let api = api.ok_or(PullFlaw::Missing("api_key"))?;
        client(api_base(api)?, auth(api), limit)
    };
    let bearer = |api: &Api| Auth::Bearer(api.key.clone());
    Ok(match provider {
        "resend" => Box::new(resend::Resend::new(http(bearer)?)),
        "agentmail" => agentmail::build(http(bearer)?, poll)?,
        "nylas" => nylas::build(http(bearer)?, poll)?,
        "postmark" => Box::new(postmark::Postmark::new(http(postmark::auth)?)),
        "mailgun" => mailgun::build(http(mailgun::auth)?, poll)?,
        "mailhook" => {
            let api = api.ok_or(PullFlaw::Missing("api_key"))?;
            let auth = mailhook::auth(api, poll)?;
            let http = client(api_base(api)?, auth, limit)?;
            Box::new(mailhook::Mailhook::new(http, poll)?)
        }
        "http-list" => {
            let list = poll.list.as_ref().ok_or(PullFlaw::Missing("poll.list"))?;
            let api = api.ok_or(PullFlaw::Missing("api_key` and `api_url"))?;
            let http = client(api_base(api)?, list::auth(api, list)?, limit)?;
            Box::new(list::List::new(http, list, poll)?)
        }
        "imap" => Box::new(imap::Imap::new(poll, settings)?),
        "folder" => {
            let path = poll.path.clone().ok_or(PullFlaw::Missing("poll.path"))?;
            Box::new(folder::Folder::polled(path, poll, limit))
        }
        _ => return Err(PullFlaw::NoPolling),
    })
}

fn api_base(api: &Api) -> Result<Url, PullFlaw> {
    let why = "https:// is needed, or http:// on this machine";
    api_url(&api.url).ok_or(PullFlaw::Unfit("api_url", why))
}

fn client(base: Url, auth: Auth, limit: usize) -> Result<Http, PullFlaw> {
    Http::new(base, auth, limit).map_err(|error| PullFlaw::Client(Box::new(error)))
}
