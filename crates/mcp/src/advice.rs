//! What a model should do next, in the words of the tools. The server decides what that
//! is; this only says it.

use client::{Attempt, CallError};

/// The next step of an attempt without a value.
pub(crate) fn after(attempt: &Attempt) -> String {
    let tool = tool_for(attempt);
    match attempt.next.as_str() {
        "wait" => format!(
            "No mail yet. Check that the site has sent it to `{}`, then call {tool} again. \
             After two minutes without mail call request_resend.",
            attempt.inbox
        ),
        "consume" => format!("Call {tool}."),
        "resend" => format!(
            "Call request_resend, press \"send again\" at the site if it is allowed, then \
             call {tool}."
        ),
        "open" => open_another(attempt.reason.as_deref()),
        "tell_operator" if attempt.reason.as_deref() == Some("host_not_allowed") => {
            "The mail has a link or a code for a host that is not allowed; `seen` is the domain of \
             that host. If the domain belongs to the site, tell the user that the operator of the \
             mail server must allow it."
                .to_owned()
        }
        "tell_operator" => {
            "You cannot solve this. Tell the user that the operator of the mail server must \
             act, with this status and reason."
                .to_owned()
        }
        _ => "The value is already taken. If it did not work, call request_resend.".to_owned(),
    }
}

/// What to change in the next attempt. An attempt with the same settings would miss the mail
/// again.
fn open_another(reason: Option<&str>) -> String {
    let change = match reason {
        Some("sender_not_allowed") => {
            "Mail came from a domain that is not in `from`; `seen` is that domain. If it is the \
             site's own, call start_attempt with a new reference and this domain in `from`, and \
             have the mail sent to the new address. Otherwise ignore that mail and go on waiting."
        }
        Some("host_not_allowed") => {
            "The mail has a link or a code for a host that is not allowed; `seen` is the domain of \
             that host. If the domain belongs to the site, call start_attempt with a new reference \
             and put two entries into `link_hosts`: the domain, and the domain with `*.` in front. \
             Otherwise ignore that mail and go on waiting."
        }
        Some("token_missing" | "token_ambiguous" | "token_unfit") => {
            "The field that the attempt asks for is missing in the link, or is not usable. Call \
             start_attempt with a new reference; the new attempt returns the whole link."
        }
        Some("link_instead") => {
            "A link came and no code. Call start_attempt with a new reference and kind `link`, \
             and have the mail sent to the new address."
        }
        Some("code_instead") => {
            "A code came and no link. Call start_attempt with a new reference and kind `code`, \
             and have the mail sent to the new address."
        }
        _ => "Call start_attempt with a new reference, and use its new address.",
    };
    change.to_owned()
}

/// The next step when the value was consumed.
pub(crate) const ALREADY: &str = "Another caller took the value, or you did more than two \
    minutes ago. For another mail call request_resend.";

/// The next step with a value.
pub(crate) fn found(attempt: &Attempt) -> String {
    match tool_for(attempt) {
        "wait_for_link" => "Open the link in the browser, then call finish_attempt.".to_owned(),
        _ => "Enter the code at the site, then call finish_attempt.".to_owned(),
    }
}

/// The tool that waits for the value of an attempt.
pub(crate) fn tool_for(attempt: &Attempt) -> &'static str {
    match attempt.kind.as_str() {
        "link" => "wait_for_link",
        _ => "wait_for_code",
    }
}

/// A failed call as a word and a next step.
pub(crate) fn of_failure(error: &CallError) -> (&'static str, String) {
    let (word, next) = match error {
        CallError::Unauthenticated => (
            "unauthorized",
            "Tell the user that the API key is not accepted.",
        ),
        CallError::Forbidden { scope } => {
            let scope = scope.as_deref().unwrap_or("that this needs");
            let next = format!("Tell the user that the API key lacks the scope {scope}.");
            return ("forbidden", next);
        }
        CallError::NotFound => (
            "not_found",
            "There is no such attempt or inbox for this API key. Check the id, or call \
             start_attempt.",
        ),
        CallError::Busy => (
            "busy",
            "Wait ten seconds, then repeat the call with the same arguments.",
        ),
        CallError::Unreachable(_) | CallError::Unavailable => (
            "unavailable",
            "The server is unavailable. Repeat the call with the same arguments.",
        ),
        CallError::Invalid(complaint) => {
            let next = format!("Correct the arguments: {complaint}.");
            return ("invalid", next);
        }
        CallError::Refused { complaint, .. } if complaint.detail.is_some() => {
            let next = format!("Tell the user what the server says: {complaint}.");
            return ("failed", next);
        }
        CallError::Refused { .. } | CallError::Unreadable(_) => (
            "failed",
            "Tell the user that this tool and its server do not fit together.",
        ),
    };
    (word, next.to_owned())
}
