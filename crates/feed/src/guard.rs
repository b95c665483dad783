//! `/v1/guards`: an agent claims an intent before it acts somewhere else, and reports
//! after.

mod claim;
mod guard_body;
mod intent_body;
mod report;
mod show;

use pipeline::GuardId;

use crate::http::problem::Problem;

pub(crate) use claim::{ClaimRequestBody, claim};
pub(crate) use guard_body::{GuardBody, GuardClaimBody, NEXT, STATES};
pub(crate) use intent_body::IntentBody;
pub(crate) use report::{
    ConfirmRequestBody, ExtendRequestBody, ReleaseRequestBody, confirm, extend, release,
};
pub(crate) use show::show;

/// The guard that a path names. A malformed id is answered like an unknown one.
fn guard_of(path: &str) -> Result<GuardId, Problem> {
    path.parse().map_err(|_invalid| Problem::NotFound)
}
