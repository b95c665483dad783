//! Proves who sent a post and reads the mail out of it, for every provider.
//!
//! This crate never does I/O, never parses a mail and never reads the clock:
//! bytes and a time go in, values come out, and the same input gives the same
//! answer for ever.
//!
//! Read it in this order: what comes in and what a proof is; how keys and
//! signatures are checked; how bodies are read; then one file per provider in
//! `contract/`; then how the configuration becomes sources.

mod request;
mod verify;

mod certificate;
mod freshness;
mod gate;
mod identity;
mod key;
mod scheme;
mod signature;
mod symmetric;

mod aws;
mod decode;
mod form;
mod json;
mod letter;
mod polled;
mod reach;
mod remote_mail;

mod answers;
mod contract;
mod sample;

mod poll_settings;
mod settings;
mod source;
mod sources;

pub use answers::Answers;
pub use aws::{Scope, escape};
pub use certificate::Certificate;
pub use contract::standard_webhooks::sign;
pub use contract::{Contract, contracts};
pub use decode::{DecodeError, Decoded, InboundMail, SenderVerdict};
pub use gate::address_range;
pub use json::moment;
pub use key::KeyError;
pub use poll_settings::{ListSettings, PollSettings};
pub use polled::{POLLED, polled};
pub use reach::is_within;
pub use remote_mail::{Api, Confirmation, Holds, RemoteMail};
pub use request::RawRequest;
pub use sample::{Post, Sample};
pub use settings::{
    PayloadSettings, RawForm, S3Settings, SchemeSettings, SecretSetting, SourceSettings,
};
pub use source::Source;
pub use sources::{SourceError, SourceFlaw, Sources};
pub use verify::{Coverage, Verified, VerifyError};
