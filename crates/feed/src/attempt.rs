//! `/v1/attempts`: all that most agents need.

mod advice;
mod attempt_body;
mod consume;
mod finish;
mod open;
mod resend;
mod show;
mod wait;

use pipeline::AttemptId;

use crate::http::problem::Problem;

pub(crate) use attempt_body::AttemptBody;
pub(crate) use consume::{AttemptDisclosureBody, ConsumeRequestBody, consume};
pub(crate) use finish::{FinishRequestBody, finish};
pub(crate) use open::{OpenRequestBody, open};
pub(crate) use resend::{ResendBody, resend};
pub(crate) use show::show;

/// The attempt that a path names. A malformed id is answered like an unknown one.
fn attempt_of(path: &str) -> Result<AttemptId, Problem> {
    path.parse().map_err(|_invalid| Problem::NotFound)
}
