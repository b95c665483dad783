//! One client for each kind of source that can be polled.

mod accounts;
mod agentmail;
mod eastern;
pub(crate) mod folder;
mod http_list;
mod imap;
mod json;
mod mailgun;
mod mailhook;
mod nylas;
mod postmark;
mod resend;

use providers::{Api, PollClient, PollSettings};
use url::Url;

use crate::client::SourceClient;
use crate::client::http::{Auth, Http, api_url};
use crate::flaw::PollFlaw;
use crate::settings::Settings;

/// Builds the client of a source from its `poll` table and its API.
pub(crate) fn build(
    client: PollClient,
    poll: &PollSettings,
    api: Option<&Api>,
    settings: &Settings,
) -> Result<Box<dyn SourceClient>, PollFlaw> {
    let limit = settings.message_limit;
    let api = || api.ok_or(PollFlaw::Missing("api_key"));
    let http = |auth: Auth| http(api()?, auth, limit);
    let bearer = || Ok(Auth::Bearer(api()?.key.clone()));
    Ok(match client {
        PollClient::Resend => Box::new(resend::Resend::new(http(bearer()?)?)),
        PollClient::AgentMail => agentmail::build(http(bearer()?)?, poll)?,
        PollClient::Nylas => nylas::build(http(bearer()?)?, poll)?,
        PollClient::Postmark => {
            let http = http(postmark::auth(api()?))?;
            Box::new(postmark::Postmark::new(http))
        }
        PollClient::Mailgun => mailgun::build(http(mailgun::auth(api()?))?, poll)?,
        PollClient::Mailhook => {
            let http = http(mailhook::auth(api()?, poll)?)?;
            Box::new(mailhook::Mailhook::new(http, poll)?)
        }
        PollClient::HttpList => {
            let list = poll.list.as_ref().ok_or(PollFlaw::Missing("poll.list"))?;
            let http = http(http_list::auth(api()?, list)?)?;
            Box::new(http_list::HttpList::new(http, list, poll)?)
        }
        PollClient::Imap => imap::build(poll, settings)?,
        PollClient::Folder => {
            let path = poll.path.clone().ok_or(PollFlaw::Missing("poll.path"))?;
            Box::new(folder::Folder::polled(path, poll, limit))
        }
    })
}

fn http(api: &Api, auth: Auth, limit: usize) -> Result<Http, PollFlaw> {
    let why = "https:// is required, or http:// for this machine";
    let base: Url = api_url(&api.url).ok_or(PollFlaw::Unfit("api_url", why))?;
    Http::new(base, auth, limit).map_err(|error| PollFlaw::Client(Box::new(error)))
}
