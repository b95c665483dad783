//! Proves who sent a post and reads the mail out of it, for every provider.
//!
//! This crate never does I/O, never parses a mail and never reads the clock:
//! bytes and a time go in, values come out, and the same input gives the same
//! answer for ever.
//!
//! Read it in this order: what comes in, what a proof is, how keys and
//! signatures are checked, then one file per provider.

mod request;
mod verify;

mod freshness;
mod key;
mod signature;

mod decode;
mod json;

mod standard_webhooks;

mod settings;
mod source;
mod sources;

pub use decode::{DecodeError, Decoded, InboundMail};
pub use key::KeyError;
pub use request::RawRequest;
pub use settings::{SecretSetting, SourceSettings};
pub use source::Source;
pub use sources::{SourceError, SourceFlaw, Sources};
pub use standard_webhooks::sign;
pub use verify::{Coverage, Verified, VerifyError};
