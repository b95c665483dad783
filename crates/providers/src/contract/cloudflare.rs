//! Cloudflare Email Routing, through the relay worker in `deploy/cloudflare`:
//! Cloudflare itself signs nothing, so the worker does, by Standard Webhooks.
//!
//! Request: `webhook-id`, `webhook-timestamp`, `webhook-signature`, and Maillatch's
//! own payload (`type`, `data.recipients`, `data.raw`) with the
//! envelope's recipient and the unchanged bytes of the message. The id is made from
//! the message, so that the sender's next try is the same delivery.
//!
//! Received: not stated by that worker, and hardly needed: it posts while the sending
//! server waits, so a mail is received when it is stored.
//!
//! Answers: 200 stored or duplicate; 401 not proven or stale; 413 too large; 503 not
//! stored. Any status but 2xx makes the worker fail, and the sender's mail server
//! tries again; none of them bounces the mail.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add cloudflare` prints.

use super::{Contract, Handshake, native, standard_webhooks};
use crate::sample::Shape;
use crate::{Answers, Coverage};

pub(crate) const CONTRACT: Contract = Contract {
    name: "cloudflare",
    answers: Answers::PLAIN,
    setup: &[
        "Mint a secret of 24 to 64 random bytes, written as `whsec_` and base64.",
        "Deploy `deploy/cloudflare/relay.js` with MAILLATCH_URL and MAILLATCH_SECRET set.",
        "In Cloudflare, Email Routing, route the addresses to that worker.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: standard_webhooks::KNOBS,
    build: |settings| standard_webhooks::build(settings, Box::new(native::decode), Shape::native),
};
