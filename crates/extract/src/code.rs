//! Codes: candidates by shape, evidence by context; at most one is returned.

mod against;
mod bound;
mod candidate;
mod context;
mod decide;
mod evidence;
mod mask;
mod number;
mod rule;
mod run;
mod score;
mod segment;
mod shape;
mod token;

pub(crate) use decide::{Codes, read};
pub(crate) use score::Considered;
