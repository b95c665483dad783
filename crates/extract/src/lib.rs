//! Raw mail in; at most one code and one link out, each with its reason.
//!
//! This crate never waits, never reads a clock, never opens a connection and
//! never follows a link. It abstains rather than guess.
//!
//! Reading order: [`extract()`] → `structure` → `mail` → `html` → `code` → `link`.

mod allowlist;
mod code;
mod content_type;
mod explanation;
mod extract;
mod flag;
mod fold;
mod header;
mod html;
mod identity;
mod lexicon;
mod link;
mod mail;
mod policy;
mod reading;
mod refusal;
mod sender;
mod structure;
mod verdict;

pub use allowlist::{Allowlist, AllowlistError};
pub use explanation::Explanation;
pub use extract::{Extracted, extract};
pub use flag::Flag;
pub use identity::Identity;
pub use link::{Destination, Rejection, judge, registrable, unwrap};
pub use policy::Policy;
pub use refusal::Refusal;
pub use sender::Sender;
pub use structure::body_offset;
pub use verdict::{Code, Link, LinkKind, Reason, Verdict};
