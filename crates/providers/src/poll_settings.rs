//! How a source is polled, as configured.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use crate::RawForm;

/// The `poll` table of a source, as written and not yet checked. Which of these
/// mean something depends on the provider; `poll = {}` is enough for some.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PollSettings {
    /// How often it is asked although nothing suggests that mail is missing.
    pub every_seconds: Option<u64>,
    /// What to ask for at providers that list mail by mailbox: inboxes
    /// (`agentmail`), grants (`nylas`), domains (`mailgun`), address ids
    /// (`mailhook`).
    pub accounts: Vec<String>,
    /// `mailhook`: the agent that the key belongs to.
    pub agent_id: Option<String>,
    /// `imap`: `imaps://host:993`, or `imap+starttls://host:143`; `imap://` only on
    /// this machine.
    pub server: Option<String>,
    /// `imap`: who to log in as.
    pub user: Option<String>,
    /// `imap`: the password that goes with it.
    pub password: Option<SecretString>,
    /// `imap`: the mailbox; the inbox when left out.
    pub mailbox: Option<String>,
    /// `imap`: certificates to trust besides the machine's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// `folder`: a Maildir, or a folder of `.eml` files.
    pub path: Option<PathBuf>,
    /// `imap`, `folder`, `http-list`: the addresses that all of its mail is
    /// for. Those named by the mail when left out.
    pub deliver_to: Vec<String>,
    /// `http-list`: how the list is asked for and what it looks like.
    pub list: Option<ListSettings>,
}

/// How an HTTP list of mails is asked for; paths into JSON are keys with dots
/// between.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSettings {
    /// Path and query of the list, below `api_url`.
    pub path: String,
    /// Where the answer holds the list; the answer itself when left out.
    pub items: Option<String>,
    /// Where an item holds its id.
    pub id: String,
    /// Where an item holds its time, as RFC 3339 or Unix seconds.
    pub time: Option<String>,
    /// Where the answer holds what to send for the next page; there is one page
    /// only when left out.
    pub next: Option<String>,
    /// The query's field for that; `next` is a whole URL when left out.
    pub next_field: Option<String>,
    /// Where an item holds its message.
    pub raw: Option<String>,
    /// The path of a message below `api_url`, with `{id}` in it, when the item
    /// does not hold it.
    pub raw_path: Option<String>,
    /// How the message is written.
    #[serde(default)]
    pub encoding: RawForm,
    /// Where an item holds the recipients: one text or a list.
    pub recipients: Option<String>,
    /// The header that shows the key; `Authorization: Bearer` when left out.
    pub key_header: Option<String>,
}
