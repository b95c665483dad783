//! How a source is polled, as configured.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::RawForm;

/// The `poll` table of a source, as written and not yet checked. The provider decides
/// which of these it uses; for some `poll = {}` is enough.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PollSettings {
    /// The seconds between two routine polls.
    pub every_seconds: Option<u64>,
    /// The mailboxes to list, at providers that list mail by mailbox: inboxes
    /// (`agentmail`), grants (`nylas`), domains (`mailgun`), address ids (`mailhook`).
    pub accounts: Vec<String>,
    /// `mailhook`: the agent that the API key belongs to.
    pub agent_id: Option<String>,
    /// `imap`: `imaps://host:993` or `imap+starttls://host:143`; `imap://` only for
    /// this machine.
    pub server: Option<String>,
    /// `imap`: the user to log in as.
    pub user: Option<String>,
    /// `imap`: the user's password.
    pub password: Option<SecretString>,
    /// `imap`: the folder to read; the inbox if left out.
    pub mailbox: Option<String>,
    /// `imap`: several folders to read, such as the inbox and the spam folder.
    pub mailboxes: Vec<String>,
    /// `imap`: which mail is read at first: mail that arrives after this moment (RFC 3339),
    /// or `all`. If left out, the moment when the source is first polled.
    pub since: Option<String>,
    /// `imap`: certificates to trust besides the machine's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// `folder`: a Maildir, or a folder of `.eml` files.
    pub path: Option<PathBuf>,
    /// `imap`, `folder`, `http-list`: the recipients of all its mail. If left out, the
    /// mail's own headers name them.
    pub deliver_to: Vec<String>,
    /// `http-list`: how to request the list and how to read it.
    pub list: Option<ListSettings>,
}

/// How an HTTP list of mails is requested and read. Places in JSON are dotted paths.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSettings {
    /// Path and query of the list, below `api_url`.
    pub path: String,
    /// Where the answer holds the list; the answer itself if left out.
    pub items: Option<String>,
    /// Where an item holds its id.
    pub id: String,
    /// Where an item holds its time, as RFC 3339 or Unix seconds.
    pub time: Option<String>,
    /// Where the answer holds the cursor of the next page; there is only one page if
    /// left out.
    pub next: Option<String>,
    /// The query field to send the cursor in; if left out, the cursor is a URL.
    pub next_field: Option<String>,
    /// Where an item holds its message.
    pub raw: Option<String>,
    /// The path of a message below `api_url`, with `{id}` in it, if the item does not
    /// hold the message.
    pub raw_path: Option<String>,
    /// How the message is written.
    #[serde(default)]
    pub encoding: RawForm,
    /// Where an item holds the recipients: one text or a list.
    pub recipients: Option<String>,
    /// The header that sends the API key; `Authorization: Bearer` if left out.
    pub key_header: Option<String>,
}
