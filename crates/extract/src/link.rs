//! Links: collected, judged, classified, and at most one returned.

mod gate;
pub(crate) mod host;
mod proofpoint;
mod redirect;
mod unwrap;

pub use gate::{Destination, Rejection, judge, unwrap};
