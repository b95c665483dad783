//! Links: collected, checked, classified; at most one is returned.

mod address;
mod beside;
mod classify;
mod collect;
mod concepts;
mod decide;
mod decode;
mod facts;
mod features;
mod footnote;
mod gate;
mod label;
mod proofpoint;
mod redirect;
mod rule;
mod said;
mod surroundings;
mod token;
mod unwrap;
mod vocabulary;
mod wrapper;

pub(crate) use decide::{ConsideredLink, Links, read, seen_by_model};
pub use gate::{Destination, judge, unwrap};
