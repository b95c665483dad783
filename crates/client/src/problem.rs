//! Answers that refuse a request: the problem document, and the [`CallError`] that
//! it stands for.

use reqwest::StatusCode;
use serde::Deserialize;

use crate::call::{Answer, CallError};
use crate::complaint::Complaint;

/// Our servers write shorter sentences; a longer one is cut.
const MAX_CHARS: usize = 400;

/// The members of a problem that a client reads.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Problem {
    #[serde(default)]
    r#type: String,
    detail: Option<String>,
    field: Option<String>,
    rule: Option<String>,
    scope: Option<String>,
    oldest: Option<String>,
    pub(crate) consumed_at: Option<String>,
    pub(crate) reason: Option<String>,
}

impl Problem {
    /// The problem in a body; empty if the body is not a problem.
    pub(crate) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// The last part of its type.
    pub(crate) fn slug(&self) -> Option<&str> {
        self.r#type.strip_prefix("urn:maillatch:problem:")
    }

    fn complaint(self) -> Complaint {
        let slug = self.slug().map(str::to_owned);
        Complaint {
            slug,
            detail: self.detail.map(|text| printable(&text)),
            field: self.field.map(|text| printable(&text)),
            rule: self.rule.map(|text| printable(&text)),
            oldest: self.oldest.map(|text| printable(&text)),
        }
    }
}

/// Text without control characters, so that a terminal can show it.
fn printable(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(MAX_CHARS).collect()
}

/// The error for an answer that the call itself does not handle.
pub(crate) fn failure(answer: &Answer) -> CallError {
    let problem = Problem::read(&answer.body);
    match answer.status {
        StatusCode::UNAUTHORIZED => CallError::Unauthenticated,
        StatusCode::FORBIDDEN => CallError::Forbidden {
            scope: problem.scope.map(|scope| printable(&scope)),
        },
        StatusCode::NOT_FOUND => CallError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => CallError::Busy,
        // 408: the request did not reach the server in time, as on a busy machine.
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => CallError::Unavailable,
        // A body that is not our problem document comes from another version or program.
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if problem.slug().is_some() => {
            CallError::Invalid(problem.complaint())
        }
        status => CallError::Refused {
            status: status.as_u16(),
            complaint: problem.complaint(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(status: u16, body: &str) -> String {
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            is_replay: false,
            date: None,
            body: body.as_bytes().to_vec(),
        };
        failure(&answer).to_string()
    }

    #[test]
    fn a_refused_field_is_named_with_its_rule() {
        let body = r#"{"type":"urn:maillatch:problem:invalid-body","detail":"no such thing",
            "field":"deadline","rule":"1 to 86400 seconds"}"#;
        let said = message(400, body);
        assert!(
            said.contains("no such thing (deadline: 1 to 86400 seconds)"),
            "{said}"
        );
        let body = body.replace("no such thing", "`deadline`: 1 to 86400 seconds");
        let said = message(400, &body);
        assert_eq!(said.matches("86400").count(), 1, "{said}");
    }

    #[test]
    fn a_missing_scope_is_named() {
        let body = r#"{"type":"urn:maillatch:problem:forbidden","scope":"attempt"}"#;
        assert!(message(403, body).contains("`attempt`"));
    }

    #[test]
    fn a_body_that_is_not_a_problem_document_is_not_printed() {
        let said = message(400, "<html>\u{1b}[2J nginx</html>");
        assert!(said.contains("400") && !said.contains("nginx"), "{said}");
    }
}
