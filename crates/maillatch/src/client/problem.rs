//! An answer that is a refusal: what a client reads of its problem document, and
//! which failure of a call it is.

use reqwest::StatusCode;
use serde::Deserialize;

use super::call::{Answer, CallError};
use super::complaint::Complaint;

/// No sentence of a server is longer; what is, is none of ours.
const LONGEST: usize = 400;

/// The members of a problem that a client reads.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Problem {
    #[serde(default)]
    r#type: String,
    detail: Option<String>,
    field: Option<String>,
    rule: Option<String>,
    scope: Option<String>,
    pub(super) consumed_at: Option<String>,
    pub(super) reason: Option<String>,
}

impl Problem {
    /// The problem in a body, or one without a name.
    pub(super) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// The last part of its type.
    pub(super) fn slug(&self) -> Option<&str> {
        self.r#type.strip_prefix("urn:maillatch:problem:")
    }

    fn complaint(self) -> Complaint {
        let slug = self.slug().map(str::to_owned);
        Complaint {
            slug,
            detail: self.detail.map(|text| plain(&text)),
            field: self.field.map(|text| plain(&text)),
            rule: self.rule.map(|text| plain(&text)),
        }
    }
}

/// A sentence as a terminal may show it.
fn plain(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(LONGEST).collect()
}

/// Which failure an answer is that the call itself has no word for.
pub(super) fn failure(answer: &Answer) -> CallError {
    let problem = Problem::read(&answer.body);
    match answer.status {
        StatusCode::UNAUTHORIZED => CallError::Unauthenticated,
        StatusCode::FORBIDDEN => CallError::Forbidden {
            scope: problem.scope.map(|scope| plain(&scope)),
        },
        StatusCode::NOT_FOUND => CallError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => CallError::Busy,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            CallError::Unavailable
        }
        // A body that is no problem of ours is of another version, or of a stranger.
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

    fn told(status: u16, body: &str) -> String {
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            is_replay: false,
            body: body.as_bytes().to_vec(),
        };
        failure(&answer).to_string()
    }

    #[test]
    fn a_complaint_names_the_field_and_what_it_must_be() {
        let body = r#"{"type":"urn:maillatch:problem:invalid-body","detail":"no such thing",
            "field":"deadline","rule":"1 to 86400 seconds"}"#;
        let said = told(400, body);
        assert!(
            said.contains("no such thing (deadline: 1 to 86400 seconds)"),
            "{said}"
        );
    }

    #[test]
    fn a_key_that_lacks_a_scope_is_told_which() {
        let body = r#"{"type":"urn:maillatch:problem:forbidden","scope":"attempt"}"#;
        assert!(told(403, body).contains("`attempt`"));
    }

    #[test]
    fn what_is_no_problem_of_ours_is_not_repeated() {
        let said = told(400, "<html>\u{1b}[2J nginx</html>");
        assert!(said.contains("400") && !said.contains("nginx"), "{said}");
    }
}
