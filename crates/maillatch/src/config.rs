//! Configuration: layers of text become one checked [`Config`].

mod args;
mod layers;
mod mint_domain;
mod placeholder;
mod sending;
mod settings;
mod span;
mod variables;

pub(crate) use args::ConfigArgs;
pub(crate) use mint_domain::MintDomain;
pub(crate) use settings::{Config, LogFormat, Profile, Server};
pub(crate) use span::Span;
