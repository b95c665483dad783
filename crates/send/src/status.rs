//! What the statuses of HTTP mean for a mail, where a provider says nothing else.

use crate::acceptance::{Acceptance, LookUp};
use crate::http::{Answer, NoAnswer};

/// What a request came to: the provider's own meaning of its answer, or that of no answer.
pub(crate) fn acceptance(
    result: Result<Answer, NoAnswer>,
    meaning: fn(&Answer) -> Acceptance,
) -> Acceptance {
    match result {
        Ok(answer) => meaning(&answer),
        Err(no_answer) => without_answer(no_answer),
    }
}

/// What a look-up came to: what the provider's answer says about this key. No answer says
/// nothing.
pub(crate) fn looked_up(
    result: Result<Answer, NoAnswer>,
    found: fn(&Answer, &str) -> LookUp,
    key: &str,
) -> LookUp {
    result.map_or(LookUp::Unknown, |answer| found(&answer, key))
}

/// The meaning of no answer.
fn without_answer(no_answer: NoAnswer) -> Acceptance {
    match no_answer {
        NoAnswer::NotConnected => Acceptance::not_sent("not_connected", None),
        NoAnswer::TimedOut => Acceptance::maybe("no_answer"),
        NoAnswer::Broken => Acceptance::maybe("connection_broken"),
    }
}

/// The meaning of an answer that is no success, by its status alone.
///
/// | status | meaning |
/// |---|---|
/// | 400, 404, 413, 415, 422 | refused: the mail itself is wrong |
/// | 401, 403 | not sent: the sender's key or account is wrong |
/// | 429 | not sent: too many requests |
/// | anything else | maybe |
pub(crate) fn by_status(answer: &Answer) -> Acceptance {
    match answer.status {
        400 | 404 | 413 | 415 | 422 => Acceptance::refused("refused_by_provider"),
        401 | 403 => Acceptance::sender_unfit("unauthorized"),
        429 => Acceptance::not_sent("rate_limited", answer.wait),
        408 => Acceptance::maybe("no_answer"),
        200..300 => Acceptance::maybe("unreadable_answer"),
        300..400 => Acceptance::maybe("redirected"),
        500.. => Acceptance::maybe("provider_error"),
        _ => Acceptance::maybe("unknown_answer"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn answer(status: u16) -> Answer {
        Answer::of(status, "")
    }

    #[test]
    fn only_listed_statuses_prove_that_nothing_was_sent() {
        for status in 100..=599 {
            let is_maybe = matches!(by_status(&answer(status)), Acceptance::Maybe { .. });
            let is_proof = [400, 401, 403, 404, 413, 415, 422, 429].contains(&status);
            assert_eq!(is_maybe, !is_proof, "{status}");
        }
    }

    #[test]
    fn rate_limit_keeps_the_wait_of_the_provider() {
        let mut limited = answer(429);
        limited.wait = Some(Duration::from_secs(7));
        let expected = Acceptance::not_sent("rate_limited", Some(Duration::from_secs(7)));
        assert_eq!(by_status(&limited), expected);
    }

    #[test]
    fn only_a_failed_connection_proves_that_nothing_was_written() {
        let not_connected = without_answer(NoAnswer::NotConnected);
        assert!(matches!(not_connected, Acceptance::NotSent(_)));
        for broken in [NoAnswer::TimedOut, NoAnswer::Broken] {
            assert!(matches!(without_answer(broken), Acceptance::Maybe { .. }));
        }
    }
}
