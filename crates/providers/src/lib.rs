//! Proves who sent a post and reads the mail out of it, for every provider.
//!
//! This crate never does I/O, never parses a mail and never reads the clock. Bytes
//! and a time go in, values come out, and the same input always gives the same
//! answer.
//!
//! Read it in this order: [`settings`] (what an operator configures), [`proof`] (how
//! a post is proven), [`payload`] (what a body can hold), [`contract`] (what a
//! provider's row says), [`provider`] (the registry, and one file for each provider),
//! then [`source`] and [`sources`] (the configured sources). `README.md` lists the
//! providers.

mod settings;

mod encoding;

mod api;
mod payload;
mod proof;

mod contract;
mod flaw;
mod provider;

mod source;
mod sources;

pub use api::Api;
pub use api::aws_signature::{Scope, SignedPost, escape};
pub use api::own_hosts::is_own_host;
pub use contract::answers::Answers;
pub use contract::polling::{InboxSetting, PollClient, Polling};
pub use contract::sample::{Post, Sample};
pub use contract::source_add::{Ask, Minted, USERNAME};
pub use contract::{Contract, Posts};
pub use flaw::SourceFlaw;
pub use payload::addressed_message::{POLLED, POLLED_REBUILT, addressed_message};
pub use payload::json::moment;
pub use payload::mail::{InboundMail, SenderVerdict};
pub use payload::remote_mail::{Confirmation, Holds, RemoteMail};
pub use payload::sent_event::SentEvent;
pub use payload::{BatchPart, DecodeError, Decoded};
pub use proof::certificate::Certificate;
pub use proof::key::KeyError;
pub use proof::request::RawRequest;
pub use proof::{Coverage, Verified, VerifyError};
pub use provider::resend::message_of_answer;
pub use provider::standard_webhooks::sign;
pub use provider::{contract, contracts};
pub use settings::{
    ListSettings, PayloadSettings, PollSettings, RawForm, S3Settings, SchemeSettings,
    SecretSetting, SourceSettings,
};
pub use source::Source;
pub use source::access::address_range;
pub use sources::{SourceError, Sources};
