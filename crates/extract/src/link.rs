//! Links: collected, judged, classified, and at most one returned.

mod address;
mod classify;
mod collect;
mod decide;
mod gate;
pub(crate) mod host;
mod proofpoint;
mod redirect;
mod unwrap;
mod vocabulary;
mod wrapper;

pub(crate) use decide::{ConsideredLink, find};
pub use gate::{Destination, Rejection, judge, unwrap};
pub use host::registrable;
