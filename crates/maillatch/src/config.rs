//! Configuration: layers of text become one checked [`Config`].

mod layers;
mod settings;
mod span;

pub(crate) use layers::{Flags, load};
pub(crate) use settings::{Config, LogFormat, Profile};
pub(crate) use span::Span;
