//! The scheme that Stripe made common: one header `t=…,v1=…`, signed
//! `{timestamp}.{body}`, lower-case hex, the secret taken literally. Mails.ai
//! (`X-Mails-Signature`), AI Inbx (`AIInbx-Signature`, one `v1` per live secret)
//! and `MailKite` (`x-mailkite-signature`, in milliseconds) use it.
//!
//! Request: the header named by `scheme.signature_header`; the delivery's id in
//! `scheme.id_header` or at `scheme.id_field` of the body, else its content is
//! its key. The payload is Maillatch's own unless `payload` says otherwise.
//!
//! Received: `timestamp` of Maillatch's own payload, or where `payload.received_at` says; the signed time is
//! that of each try and says nothing of the mail.
//!
//! Answers: 200 stored or duplicate; 401 not proven or stale; 413 too large; 503 not
//! stored. Such senders try again on every status but 2xx and sign each try anew.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add stripe-style` prints.

use super::{Contract, Handshake, generic};
use crate::{Answers, Coverage, SchemeSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "stripe-style",
    answers: Answers::PLAIN,
    setup: &[
        "Set `scheme.signature_header` to the sender's header.",
        "Set `scheme.unit` to `milliseconds` if the sender counts in them.",
        "Copy the signing secret as it is, a `whsec_` in front included.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: generic::KNOBS,
    build: |settings| {
        let preset = SchemeSettings {
            layout: Some("pairs".to_owned()),
            signed: Some("{timestamp}.{body}".to_owned()),
            ..SchemeSettings::default()
        };
        generic::build(settings, preset)
    },
};
