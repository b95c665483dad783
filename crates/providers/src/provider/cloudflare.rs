//! Cloudflare Email Routing, through the relay worker in `deploy/cloudflare`. Cloudflare
//! itself signs nothing, so the worker signs by Standard Webhooks.
//!
//! Request: `webhook-id`, `webhook-timestamp`, `webhook-signature`, and Maillatch's own
//! payload (`type`, `data.recipients`, `data.raw`) with the recipient of the envelope and
//! the unchanged bytes of the message. The id is computed from the message, so a retry of
//! the sending server is the same delivery.
//!
//! Received: not stated. The worker posts while the sending server waits, so a mail counts
//! as received when it is stored.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | `deploy/cloudflare/relay.js` |
//! | 401 | not proven or stale | the worker throws; the sending server retries | `deploy/cloudflare/relay.js` |
//! | 413 | too large | the worker throws; the sending server retries | `deploy/cloudflare/relay.js` |
//! | 503 | not stored | the worker throws; the sending server retries | `deploy/cloudflare/relay.js` |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add cloudflare` prints.

use super::{native, standard_webhooks};
use crate::contract::answers::Answers;
use crate::contract::sample::Shape;
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts};
use crate::proof::Coverage;

pub(crate) const CONTRACT: Contract = Contract {
    name: "cloudflare",
    source_name: "cloudflare",
    posts: Posts::Original,
    polling: None,
    asks: &[Ask::MintSecret],
    answers: Answers::PLAIN,
    setup: &[
        "Mint a secret of 24 to 64 random bytes, written as `whsec_` and base64.",
        "Deploy `deploy/cloudflare/relay.js` with MAILLATCH_URL and MAILLATCH_SECRET set.",
        "In Cloudflare, Email Routing, route the addresses to that worker.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: standard_webhooks::TAKES,
    build: |settings| standard_webhooks::build(settings, Box::new(native::decode), Shape::native),
};
