//! The scheme that GitHub made common: `X-Hub-Signature-256: sha256=…`, the lower-case hex
//! of HMAC-SHA-256 over the body, with the secret taken literally. `MXHook` and inbound.new
//! (`X-Webhook-Signature`) use it, too.
//!
//! Request: the header named by `scheme.signature_header`. `X-GitHub-Delivery` is not signed
//! and not used: the content is the key, or the id at `scheme.id_field` of the body. No time
//! is signed: only the delivery's row stops a replay. The payload is Maillatch's own unless
//! `payload` describes another one.
//!
//! Received: `timestamp` of Maillatch's own payload, or the field that
//! `payload.received_at` names.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | GitHub's documents on failed deliveries |
//! | 401 | not proven | GitHub never retries; similar senders retry | GitHub's documents on failed deliveries |
//! | 413 | too large | GitHub never retries; similar senders retry | GitHub's documents on failed deliveries |
//! | 503 | not stored | GitHub never retries; similar senders retry | GitHub's documents on failed deliveries |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add github-style` prints.

use super::generic;
use crate::contract::answers::Answers;
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts};
use crate::proof::Coverage;
use crate::settings::SchemeSettings;

pub(crate) const CONTRACT: Contract = Contract {
    name: "github-style",
    source_name: "github-style",
    posts: Posts::Original,
    polling: None,
    asks: &[Ask::MintSecret],
    answers: Answers::PLAIN,
    setup: &[
        "Set `scheme.signature_header` if the sender's is not `X-Hub-Signature-256`.",
        "Copy the secret as it is.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: generic::TAKES,
    build: |settings| {
        let preset = SchemeSettings {
            signature_header: Some("X-Hub-Signature-256".to_owned()),
            prefix: Some("sha256=".to_owned()),
            ..SchemeSettings::default()
        };
        generic::build(settings, preset)
    },
};
