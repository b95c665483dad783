//! Sources that never post and are only polled: a mailbox, a folder, a list.
//!
//! Request: none. What polling finds is kept in the form of `polled.rs`.
//!
//! Received: as the mailbox, the folder or the list says; see the poller.
//!
//! Answers: whoever posts to such a source is refused with 401, or with 413 or 503 as
//! anybody else, and never gets a 200.
//!
//! Set-up: the steps in each `setup` below, which `maillatch source add imap` (or
//! `folder`, `http-list`) prints.

use pipeline::{SourceName, Timestamp};

use super::{Contract, Handshake, Provider};
use crate::settings::Knob;
use crate::sources::SourceFlaw;
use crate::{
    Answers, Coverage, DecodeError, Decoded, Post, RawRequest, Sample, SourceSettings, Verified,
    VerifyError,
};

/// A folder of this machine.
pub(crate) const FOLDER: Contract = Contract {
    name: "folder",
    answers: Answers::PLAIN,
    setup: &["Set `poll.path` to a Maildir or to a folder of `.eml` files."],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    knobs: &[Knob::Poll],
    build,
};

/// A list that a server of one's own gives by HTTP.
pub(crate) const HTTP_LIST: Contract = Contract {
    name: "http-list",
    answers: Answers::PLAIN,
    setup: &[
        "Set `api_url` and `api_key`.",
        "Describe the list in `poll.list`: see the comments of the defaults file.",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    knobs: &[Knob::Api, Knob::Poll],
    build,
};

/// A mailbox on a mail server.
pub(crate) const IMAP: Contract = Contract {
    name: "imap",
    answers: Answers::PLAIN,
    setup: &[
        "Set `poll.server` (`imaps://host:993`), `poll.user` and `poll.password`.",
        "If the mailbox is not one inbox alone, see that its server writes `Delivered-To`; \
         otherwise set `poll.deliver_to`.",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    knobs: &[Knob::Poll],
    build,
};

/// Whether a source of this contract is polled and nothing else.
pub(crate) fn is_pulled(contract: &Contract) -> bool {
    [FOLDER.name, HTTP_LIST.name, IMAP.name].contains(&contract.name)
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    match settings.poll {
        Some(_) => Ok(Box::new(Pulled)),
        None => Err(SourceFlaw::Missing("poll")),
    }
}

struct Pulled;

impl Provider for Pulled {
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
