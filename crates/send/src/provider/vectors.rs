//! Compares what senders make of answers with tables.

use crate::acceptance::Acceptance;
use crate::http::Answer;

/// An expected meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sent(&'static str),
    NotSent,
    SenderUnfit,
    Refused,
    Maybe,
}

/// Checks a table of statuses, bodies and meanings.
pub(super) fn check(meaning: fn(&Answer) -> Acceptance, table: &[(u16, &str, Kind)]) {
    for (status, body, expected) in table {
        let answer = Answer::of(*status, body);
        assert_kind(&meaning(&answer), *expected, &format!("{status} {body}"));
    }
}

/// Checks one meaning.
pub(super) fn assert_kind(meaning: &Acceptance, expected: Kind, what: &str) {
    let fits = match (meaning, expected) {
        (Acceptance::Sent { provider_id }, Kind::Sent(id)) => provider_id == id,
        (Acceptance::NotSent(not_sent), Kind::NotSent) => !not_sent.concerns_sender,
        (Acceptance::NotSent(not_sent), Kind::SenderUnfit) => not_sent.concerns_sender,
        (Acceptance::Refused { .. }, Kind::Refused) | (Acceptance::Maybe { .. }, Kind::Maybe) => {
            true
        }
        _ => false,
    };
    assert!(fits, "{what}: {meaning:?} is not {expected:?}");
}
