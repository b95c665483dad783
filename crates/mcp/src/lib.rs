//! The Model Context Protocol: six tools with which a model opens an attempt, waits for
//! its code or link, and finishes it. A key that may send has up to three more.
//!
//! Every tool is one or two calls of [`client`], so this crate has no rule of the
//! domain. It cannot see a mail, and returns nothing that the API does not return.
//!
//! A call that is repeated with the same arguments gets the same answer and discloses
//! nothing twice: all keys are derived from the arguments (`keys.rs`). The modules, in
//! reading order: `catalogue` describes the tools, `tools` runs them, `server` speaks the
//! protocol, `stdio` and `http` carry it.

mod advice;
mod answer;
mod arguments;
mod catalogue;
mod documents;
mod http;
mod keys;
mod message;
mod own_name;
mod progress;
mod sending;
mod server;
mod stdio;
mod tools;

pub use documents::documents;
pub use http::routes;
pub use own_name::is_own_name;
pub use stdio::{StdioError, serve_stdio};
