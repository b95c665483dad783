//! Codes: candidates by shape, evidence by context; at most one is returned.

mod against;
mod alphabet;
mod apart;
mod around;
mod bound;
mod candidate;
mod concepts;
mod context;
mod decide;
mod evidence;
mod facts;
mod features;
mod gap;
mod heard;
mod layout;
mod mask;
mod needs;
mod number;
mod odds;
mod phrase;
mod piece;
mod rivals;
mod rule;
mod run;
mod score;
mod segment;
mod shape;
mod spread;
mod stream;
mod token;
mod token_link;
mod twins;
mod uneven;
mod value;

pub(crate) use decide::{Codes, read, seen_by_model};
pub(crate) use score::Considered;
