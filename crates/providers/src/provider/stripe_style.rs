//! The scheme that Stripe made common: one header `t=…,v1=…`, the lower-case hex of
//! HMAC-SHA-256 over `{timestamp}.{body}`, with the secret taken literally. Mails.ai
//! (`X-Mails-Signature`), AI Inbx (`AIInbx-Signature`, one `v1` for each valid secret) and
//! `MailKite` (`x-mailkite-signature`, in milliseconds) use it.
//!
//! Request: the header named by `scheme.signature_header`. The delivery id is in
//! `scheme.id_header` or at `scheme.id_field` of the body; without one the content is the
//! key. The payload is Maillatch's own unless `payload` describes another one.
//!
//! Received: `timestamp` of Maillatch's own payload, or the field that
//! `payload.received_at` names. The signed time is that of the attempt and says nothing
//! about the mail.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | Stripe's, Mails.ai's and AI Inbx's documents: any status but 2xx |
//! | 401 | not proven or stale | retries and signs each attempt again | Stripe's, Mails.ai's and AI Inbx's documents: any status but 2xx |
//! | 413 | too large | retries and signs each attempt again | Stripe's, Mails.ai's and AI Inbx's documents: any status but 2xx |
//! | 503 | not stored | retries and signs each attempt again | Stripe's, Mails.ai's and AI Inbx's documents: any status but 2xx |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add stripe-style` prints.

use super::generic;
use crate::contract::answers::Answers;
use crate::contract::source_add::{Ask, PASTE_SECRET};
use crate::contract::{Contract, Handshake, Posts};
use crate::proof::Coverage;
use crate::settings::SchemeSettings;

pub(crate) const CONTRACT: Contract = Contract {
    name: "stripe-style",
    source_name: "stripe-style",
    posts: Posts::Original,
    polling: None,
    asks: &[
        PASTE_SECRET,
        Ask::Set("scheme.signature_header", "\"X-Signature\""),
    ],
    answers: Answers::PLAIN,
    setup: &[
        "Set `scheme.signature_header` to the sender's header.",
        "Set `scheme.unit` to `milliseconds` if the sender's timestamps are in milliseconds.",
        "Copy the signing secret as it is, with its `whsec_` prefix if it has one.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: generic::TAKES,
    build: |settings| {
        let preset = SchemeSettings {
            layout: Some("pairs".to_owned()),
            signed: Some("{timestamp}.{body}".to_owned()),
            ..SchemeSettings::default()
        };
        generic::build(settings, preset)
    },
};
