//! What a process ends with, so that a script can tell the misses apart.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::client::CallError;

/// Something else went wrong.
const FAILURE: u8 = 1;
/// What was asked for cannot be.
const USAGE: u8 = 2;
/// Waited, and no mail arrived.
pub(crate) const NOTHING_ARRIVED: u8 = 3;
/// Mail arrived, and nothing wanted was in it.
pub(crate) const NO_ARTIFACT: u8 = 4;
/// Something wanted was in it and is kept back.
pub(crate) const WITHHELD: u8 = 5;
/// Somebody else has it.
pub(crate) const ALREADY_CONSUMED: u8 = 6;
/// The key or the signature is not accepted.
pub(crate) const AUTH: u8 = 7;
/// There is no server, or it cannot do its work.
pub(crate) const UNREACHABLE: u8 = 8;

/// It came in time and its time is over.
pub(crate) const EXPIRED: u8 = 9;

/// What a process ends with that has no value to show, when an attempt stands like
/// this. It is never 0: a script would take the empty line for the code.
pub(crate) fn of_state(state: &str) -> ExitCode {
    ExitCode::from(match state {
        "pending" | "nothing_arrived" => NOTHING_ARRIVED,
        "no_artifact" => NO_ARTIFACT,
        "blocked" => WITHHELD,
        "consumed" => ALREADY_CONSUMED,
        "unhealthy" => UNREACHABLE,
        "expired" => EXPIRED,
        // It is there, and the server does not hand it out.
        _ => FAILURE,
    })
}

/// The word and the exit code for a call that failed for good.
pub(crate) fn of_failure(error: &CallError) -> (&'static str, ExitCode) {
    let (word, code) = match error {
        CallError::Unauthenticated => ("unauthenticated", AUTH),
        CallError::Forbidden { .. } => ("forbidden", AUTH),
        // An inbox that the key does not cover does not exist for it.
        CallError::NotFound => ("not_found", AUTH),
        CallError::Unreachable(_) => ("unreachable", UNREACHABLE),
        CallError::Busy | CallError::Unavailable => ("unavailable", UNREACHABLE),
        CallError::Invalid(_) => ("invalid", USAGE),
        CallError::Refused { .. } | CallError::Odd(_) => ("failed", FAILURE),
    };
    (word, ExitCode::from(code))
}

/// What machines are told of a call that failed for good.
pub(crate) fn told_of(error: &CallError) -> Value {
    let (word, _) = of_failure(error);
    match error {
        CallError::Invalid(complaint) => json!({
            "state": word,
            "problem": complaint.slug,
            "detail": complaint.detail,
            "field": complaint.field,
            "rule": complaint.rule,
        }),
        CallError::Forbidden { scope } => json!({ "state": word, "scope": scope }),
        _ => json!({ "state": word }),
    }
}

/// What to do about it, in a few words.
pub(crate) fn advice(error: &CallError) -> &'static str {
    match error {
        CallError::Unauthenticated => "; is MAILLATCH_KEY a key of this server?",
        CallError::Forbidden { .. } => "; ask the operator for one that has it",
        CallError::NotFound => "; does the key cover this inbox?",
        CallError::Unreachable(_) => "; does `maillatch up` run, and is MAILLATCH_URL its address?",
        CallError::Busy | CallError::Unavailable => "; try again in a while",
        CallError::Invalid(_) => "",
        CallError::Refused { .. } | CallError::Odd(_) => "; are client and server of one version?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_state_without_a_value_ends_with_success() {
        let success = format!("{:?}", ExitCode::SUCCESS);
        for state in [
            "ready",
            "superseded",
            "consumed",
            "pending",
            "of a newer server",
        ] {
            assert_ne!(format!("{:?}", of_state(state)), success, "{state}");
        }
    }
}
