//! Codes: candidates by shape, evidence by context, one value or none.

mod against;
mod bound;
mod candidate;
mod context;
mod decide;
mod evidence;
mod number;
mod rule;
mod run;
mod score;
mod segment;
mod shape;
mod token;

pub(crate) use decide::find;
pub(crate) use score::Considered;
