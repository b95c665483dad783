//! What a process ends with, so that a script can tell the misses apart.

use std::process::ExitCode;

use crate::client::CallError;

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

/// What a process ends with when an attempt stands like this.
pub(crate) fn of_state(state: &str) -> ExitCode {
    ExitCode::from(match state {
        "pending" | "nothing_arrived" => NOTHING_ARRIVED,
        "no_artifact" => NO_ARTIFACT,
        "blocked" => WITHHELD,
        "consumed" => ALREADY_CONSUMED,
        "unhealthy" => UNREACHABLE,
        "expired" => EXPIRED,
        _ => 0,
    })
}

/// The word and the exit code for a call that failed for good.
pub(crate) fn of_failure(error: &CallError) -> (&'static str, ExitCode) {
    match error {
        CallError::Unauthenticated => ("unauthenticated", ExitCode::from(AUTH)),
        // An inbox that the key does not cover does not exist for it.
        CallError::NotFound => ("not_found", ExitCode::from(AUTH)),
        CallError::Unreachable(_) => ("unreachable", ExitCode::from(UNREACHABLE)),
        CallError::Busy | CallError::Unavailable => ("unavailable", ExitCode::from(UNREACHABLE)),
        CallError::Refused { .. } | CallError::Odd(_) => ("failed", ExitCode::FAILURE),
    }
}

/// What to do about it, in a few words.
pub(crate) fn advice(error: &CallError) -> &'static str {
    match error {
        CallError::Unauthenticated => "; is MAILLATCH_KEY a key of this server?",
        CallError::NotFound => "; does the key cover this inbox?",
        CallError::Unreachable(_) => "; does `maillatch up` run, and is MAILLATCH_URL its address?",
        CallError::Busy | CallError::Unavailable => "; try again in a while",
        CallError::Refused { .. } | CallError::Odd(_) => "; are client and server of one version?",
    }
}
