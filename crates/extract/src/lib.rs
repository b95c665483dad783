//! Reads a raw mail and finds at most one code and one link, each with a reason.
//!
//! This crate never waits, never reads a clock, never opens a connection and never
//! follows a link. When it is unsure, it returns nothing and says why.
//!
//! Reading order: `read` → `structure` → `mail` → `html` → `code` → `link`.

mod allowlist;
mod code;
mod content_type;
mod cue;
mod expected;
mod explanation;
mod extraction;
mod flag;
mod fold;
mod forward;
mod header;
mod host;
mod html;
mod identity;
mod lexicon;
mod lines;
mod link;
mod machines;
mod mail;
mod model;
mod policy;
mod property;
mod read;
mod reading;
mod refusal;
mod rejection;
mod reply_headers;
mod sender;
mod steps;
mod structure;
mod training;
mod url_text;
mod words;

pub use allowlist::{Allowlist, AllowlistError};
pub use expected::ExpectedCode;
pub use explanation::Explanation;
pub use extraction::{AbstainReason, Code, Extraction, Link, LinkKind};
pub use flag::Flag;
pub use fold::folded;
pub use host::registrable;
pub use identity::Identity;
pub use link::{Destination, judge, unwrap};
pub use model::CandidateFeatures;
pub use policy::Policy;
pub use read::{Decision, Extracted, ReadMail, extract, read, read_within};
pub use refusal::Refusal;
pub use rejection::Rejection;
pub use reply_headers::ReplyHeaders;
pub use sender::{FromAddress, mailboxes};
pub use steps::Steps;
pub use structure::body_offset;
pub use training::{MailFeatures, features};
pub use words::{WordLimit, reads_as_words, shown_domain};
