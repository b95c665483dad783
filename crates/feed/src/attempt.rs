//! `/v1/attempts`: the one handle an agent needs.

mod consume;
mod finish;
mod open;
mod resend;
mod show;
mod told;
mod wait;

pub(crate) use consume::consume;
pub(crate) use finish::finish;
pub(crate) use open::open;
pub(crate) use resend::resend;
pub(crate) use show::show;

/// What is said and asked here, for the API's description.
pub(crate) mod described {
    pub(crate) use super::consume::{Disclosure, Wish as ConsumeWish};
    pub(crate) use super::finish::Report;
    pub(crate) use super::open::Wish;
    pub(crate) use super::resend::Grant;
    pub(crate) use super::told::Told;
}

use pipeline::AttemptId;

use crate::problem::Problem;

/// The attempt that a path names; one that cannot be is like one that is not.
fn attempt_of(path: &str) -> Result<AttemptId, Problem> {
    path.parse().map_err(|_unfit| Problem::NotFound)
}
