//! Sources that never post and are only polled: a mailbox, a folder, a list.
//!
//! Request: none. A mail that polling finds is stored in the format of
//! `payload/addressed_message.rs`.
//!
//! Received: as the mailbox, the folder or the list says; see the poller.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 401 | a post to such a source | there is no provider | none |
//! | 413 | a post that is too large | there is no provider | none |
//! | 503 | a post while the store is unavailable | there is no provider | none |
//!
//! A post never gets a 200.
//!
//! Set-up: the steps in each `setup` below, which `maillatch source add imap` (or `folder`,
//! `http-list`) prints.

use pipeline::{SourceName, Timestamp};

use crate::contract::answers::Answers;
use crate::contract::polling::{PollClient, Polling};
use crate::contract::sample::{Post, Sample};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts, Provider};
use crate::flaw::SourceFlaw;
use crate::payload::{DecodeError, Decoded};
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};
use crate::settings::{Setting, SourceSettings};

/// A folder on this machine.
pub(crate) const FOLDER: Contract = Contract {
    name: "folder",
    source_name: "folder",
    posts: Posts::Nothing,
    polling: Some(Polling::with(PollClient::Folder)),
    asks: &[Ask::Paste {
        key: "poll.path",
        what: "the path of the folder",
        example: "/var/mail/agent",
        is_list: false,
    }],
    answers: Answers::PLAIN,
    setup: &["Set `poll.path` to a Maildir or to a folder of `.eml` files."],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    takes: &[Setting::Poll],
    build,
};

/// A list of mails that some HTTP server gives.
pub(crate) const HTTP_LIST: Contract = Contract {
    name: "http-list",
    source_name: "http-list",
    posts: Posts::Nothing,
    polling: Some(Polling::with(PollClient::HttpList)),
    asks: &[
        Ask::Paste {
            key: "api_url",
            what: "the API's URL",
            example: "https://api.example.com/v1",
            is_list: false,
        },
        Ask::Paste {
            key: "api_key",
            what: "the API key",
            example: "an-example-key",
            is_list: false,
        },
        Ask::Set("poll.list.path", "\"/mails\""),
        Ask::Set("poll.list.id", "\"id\""),
        Ask::Set("poll.list.raw", "\"raw\""),
    ],
    answers: Answers::PLAIN,
    setup: &[
        "Set `api_url` and `api_key`.",
        "Describe the list in `poll.list`: the comments of the defaults file explain it.",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    takes: &[Setting::Api, Setting::Poll],
    build,
};

/// A mailbox on a mail server.
pub(crate) const IMAP: Contract = Contract {
    name: "imap",
    source_name: "imap",
    posts: Posts::Nothing,
    polling: Some(Polling::with(PollClient::Imap)),
    asks: &[
        Ask::Paste {
            key: "poll.server",
            what: "the server's URL",
            example: "imaps://imap.example.com:993",
            is_list: false,
        },
        Ask::Paste {
            key: "poll.user",
            what: "the user",
            example: "agent@example.com",
            is_list: false,
        },
        Ask::Paste {
            key: "poll.password",
            what: "the password",
            example: "an-example-password",
            is_list: false,
        },
    ],
    answers: Answers::PLAIN,
    setup: &[
        "Set `poll.server` (`imaps://host:993`), `poll.user` and `poll.password`.",
        "If the mailbox receives mail for several inboxes, check that its server writes \
         `Delivered-To`; otherwise set `poll.deliver_to`.",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    takes: &[Setting::Poll],
    build,
};

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    match settings.poll {
        Some(_) => Ok(Box::new(PollOnly)),
        None => Err(SourceFlaw::Missing("poll")),
    }
}

struct PollOnly;

impl Provider for PollOnly {
    fn verify(
        &self,
        _source: &SourceName,
        _request: &RawRequest<'_>,
        _now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        Err(VerifyError::Credentials)
    }

    fn decode(&self, _content_type: &str, _body: &[u8]) -> Result<Decoded, DecodeError> {
        Err(DecodeError::Malformed)
    }

    fn sample(&self, _sample: &Sample<'_>) -> Option<Post> {
        None
    }
}
