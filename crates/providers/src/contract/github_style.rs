//! The scheme that GitHub made common: `X-Hub-Signature-256: sha256=…`, the
//! lower-case hex of HMAC-SHA-256 over the body alone, the secret taken
//! literally. `MXHook` and inbound.new (`X-Webhook-Signature`) use it too.
//!
//! Request: the header named by `scheme.signature_header`; the delivery's id in
//! `scheme.id_header` (`X-GitHub-Delivery`), else its content is its key. No time
//! is signed: a replay is stopped by its row alone. The payload is Maillatch's
//! own unless `payload` says otherwise.
//!
//! Received: `timestamp` of Maillatch's own payload, or where `payload.received_at` says.
//!
//! Answers: 200 stored or duplicate; 401 not proven; 413 too large; 503 not stored.
//! GitHub itself never tries again, and its like do on every status but 2xx.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add github-style` prints.

use super::{Contract, Handshake, generic};
use crate::{Answers, Coverage, SchemeSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "github-style",
    answers: Answers::PLAIN,
    setup: &[
        "Set `scheme.signature_header` if the sender's is not `X-Hub-Signature-256`.",
        "Copy the secret as it is.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: generic::KNOBS,
    build: |settings| {
        let preset = SchemeSettings {
            signature_header: Some("X-Hub-Signature-256".to_owned()),
            id_header: Some("X-GitHub-Delivery".to_owned()),
            prefix: Some("sha256=".to_owned()),
            ..SchemeSettings::default()
        };
        generic::build(settings, preset)
    },
};
