//! Codes: candidates by shape, evidence by context, one value or none.

mod bound;
mod candidate;
mod context;
mod decide;
mod evidence;
mod number;
mod segment;
mod shape;
mod token;

pub use decide::Considered;
pub(crate) use decide::find;
