//! Exit codes; a script can tell the reasons for a missing value apart.

use std::process::ExitCode;

use serde_json::{Value, json};

use client::CallError;

/// Any other failure.
const FAILURE: u8 = 1;
/// The request is wrong.
const USAGE: u8 = 2;
/// No mail arrived.
pub(crate) const NOTHING_ARRIVED: u8 = 3;
/// Mail arrived without a code or link.
pub(crate) const NO_ARTIFACT: u8 = 4;
/// A code or link is withheld by policy.
pub(crate) const WITHHELD: u8 = 5;
/// Somebody else consumed it.
pub(crate) const ALREADY_CONSUMED: u8 = 6;
/// The key or the signature is not accepted.
pub(crate) const AUTH: u8 = 7;
/// The server is unreachable or unhealthy.
pub(crate) const UNREACHABLE: u8 = 8;

/// It arrived and expired.
pub(crate) const EXPIRED: u8 = 9;

/// The exit code of a process without a value, by the attempt's state. It is never 0:
/// a script would take the empty output for the code.
pub(crate) fn of_state(state: &str) -> ExitCode {
    ExitCode::from(match state {
        "pending" | "nothing_arrived" => NOTHING_ARRIVED,
        "no_artifact" => NO_ARTIFACT,
        "blocked" => WITHHELD,
        "consumed" => ALREADY_CONSUMED,
        "unhealthy" => UNREACHABLE,
        "expired" => EXPIRED,
        // A value exists, and the server does not disclose it.
        _ => FAILURE,
    })
}

/// The name and the exit code of a failed call.
pub(crate) fn of_failure(error: &CallError) -> (&'static str, ExitCode) {
    let (word, code) = match error {
        CallError::Unauthenticated => ("unauthenticated", AUTH),
        CallError::Forbidden { .. } => ("forbidden", AUTH),
        // The server hides inboxes that the key may not see.
        CallError::NotFound => ("not_found", AUTH),
        CallError::Unreachable(_) => ("unreachable", UNREACHABLE),
        CallError::Busy | CallError::Unavailable => ("unavailable", UNREACHABLE),
        CallError::Invalid(_) => ("invalid", USAGE),
        CallError::Refused { .. } | CallError::Unreadable(_) => ("failed", FAILURE),
    };
    (word, ExitCode::from(code))
}

/// A failed call as JSON.
pub(crate) fn describe(error: &CallError) -> Value {
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

/// The next step after a failed call.
pub(crate) fn advice(error: &CallError) -> &'static str {
    match error {
        CallError::Unauthenticated => "; check that MAILLATCH_KEY is a key of this server",
        CallError::Forbidden { .. } => "; ask the operator for a key with this scope",
        CallError::NotFound => "; check that the key may see this inbox",
        CallError::Unreachable(_) => {
            "; check that `maillatch up` runs and that MAILLATCH_URL is its URL"
        }
        CallError::Busy | CallError::Unavailable => "; try again later",
        CallError::Invalid(_) => "",
        // The server says what to do.
        CallError::Refused { complaint, .. } if complaint.detail.is_some() => "",
        CallError::Refused { .. } | CallError::Unreadable(_) => {
            "; check that client and server have the same version"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_state_without_a_value_exits_with_0() {
        let success = format!("{:?}", ExitCode::SUCCESS);
        for state in [
            "ready",
            "superseded",
            "consumed",
            "pending",
            "unknown_state",
        ] {
            assert_ne!(format!("{:?}", of_state(state)), success, "{state}");
        }
    }
}
