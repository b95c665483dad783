//! What an agent should do next, as a word and as a sentence.

use std::time::Duration;

use pipeline::{AttemptStatus, AttemptView, CallbackState, GIVEN_TO_ANOTHER_ATTEMPT, Reason};
use serde::Serialize;

/// After so long without mail one more mail may be requested. Most arrive within seconds.
const SLOW: Duration = Duration::from_mins(1);

/// The next step, one of a fixed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Next {
    /// Ask again, with a wait.
    Wait,
    /// Consume the value.
    Consume,
    /// Request another mail from the sender, if a resend is left.
    Resend,
    /// Open another attempt.
    Open,
    /// Tell the operator.
    TellOperator,
    /// Nothing.
    Nothing,
}

/// The next step for an attempt. `may_name_links`: an attempt may allow any host for its
/// links.
pub(super) fn advice(
    view: &AttemptView,
    status: &AttemptStatus,
    is_unhealthy: bool,
    may_name_links: bool,
) -> (Next, &'static str) {
    match view.callback_state {
        Some(CallbackState::Pending) => {
            return (Next::Nothing, "the value is being sent to the callback");
        }
        Some(CallbackState::Dead) => {
            return (
                Next::TellOperator,
                "the callback did not accept the value; the operator can send it again",
            );
        }
        Some(CallbackState::Done) | None => {}
    }
    let can_resend = view.resends_left > 0 && view.may_change();
    match status {
        AttemptStatus::Pending | AttemptStatus::NothingArrived if is_unhealthy => (
            Next::TellOperator,
            "mail is waiting to be processed; the operator should check the workers",
        ),
        AttemptStatus::Pending if can_resend && is_slow(view) => (
            Next::Resend,
            "no message has arrived for a minute; check the address you gave, then request one \
             more and go on waiting",
        ),
        AttemptStatus::Blocked(reason) => blocked(reason, can_resend, may_name_links),
        AttemptStatus::NoArtifact(reason) => no_artifact(reason, can_resend),
        other => by_status(other),
    }
}

/// Whether mail is late: since the attempt was opened, or since the last resend.
fn is_slow(view: &AttemptView) -> bool {
    let now = view
        .deadline
        .since(view.opened_at)
        .saturating_sub(view.remaining);
    let resent = view
        .resent_at
        .map_or(Duration::ZERO, |at| at.since(view.opened_at));
    now.saturating_sub(resent) > SLOW
}

/// A rule withholds what arrived. Another mail of the same kind would be withheld, too.
fn blocked(reason: &Reason, can_resend: bool, may_name_links: bool) -> (Next, &'static str) {
    match reason.as_str() {
        "sender_not_allowed" => (
            Next::Open,
            "a message arrived from a domain that is not in `from`; `seen` names it. If it is the \
             service's own, open another attempt with it in `from`; otherwise ignore the message",
        ),
        "sender_not_verified" => (
            Next::TellOperator,
            "a message arrived whose sender is not proven; ask the operator, or open another \
             attempt without `require`",
        ),
        "host_not_allowed" if may_name_links => (
            Next::Open,
            "a link or a code arrived for a host that is not allowed; `seen` names its domain. If it \
             is the service's own, open another attempt with that domain, and with `*.` and that \
             domain, in `links`; otherwise ignore the message",
        ),
        "host_not_allowed" => (
            Next::TellOperator,
            "a link or a code arrived for a host that is not allowed; `seen` names its domain. If it \
             is the service's own, ask the operator to allow it; otherwise ignore the message",
        ),
        "not_expected" => (
            Next::Open,
            "a code arrived that does not have the form in `expect`; open another attempt with the \
             right form, or without `expect`",
        ),
        "token_missing" | "token_ambiguous" | "token_unfit" => (
            Next::Open,
            "a link arrived without one usable field of the name in `token`; open another attempt \
             with the right name, or without `token`",
        ),
        _ if can_resend => (
            Next::Resend,
            "a message arrived and a rule withheld it; change the rule or request another",
        ),
        _ => (
            Next::TellOperator,
            "a message arrived and a rule withheld it; ask the operator about the allowlist",
        ),
    }
}

/// What arrived has no value of the wanted kind.
fn no_artifact(reason: &Reason, can_resend: bool) -> (Next, &'static str) {
    if *reason == GIVEN_TO_ANOTHER_ATTEMPT {
        return (
            Next::Open,
            "a message arrived and went to another attempt on the same inbox; open another \
             attempt, or use a separate inbox",
        );
    }
    match reason.as_str() {
        "already_consumed" => (
            Next::Wait,
            "the newest value was consumed before this attempt was opened; request another mail \
             from its sender and go on waiting",
        ),
        "link_instead" => (
            Next::Open,
            "a link arrived and no code; open another attempt of the kind `link` or `either`, and \
             request the mail again",
        ),
        "code_instead" => (
            Next::Open,
            "a code arrived and no link; open another attempt of the kind `code` or `either`, and \
             request the mail again",
        ),
        _ if can_resend => (
            Next::Resend,
            "a message arrived without a safe code or link; request another",
        ),
        _ => (
            Next::Open,
            "a message arrived without a safe code or link; open another attempt",
        ),
    }
}

fn by_status(status: &AttemptStatus) -> (Next, &'static str) {
    match status {
        AttemptStatus::Pending => (
            Next::Wait,
            "no message has arrived yet; ask again with a wait",
        ),
        AttemptStatus::Ready => (Next::Consume, "a value is ready; consume it"),
        AttemptStatus::Superseded => (
            Next::Consume,
            "a newer message has arrived; consume it with a new Idempotency-Key",
        ),
        AttemptStatus::Consumed => (Next::Nothing, "the value is already consumed"),
        AttemptStatus::NothingArrived => (
            Next::Open,
            "no message arrived in time; check the address you gave, and open another attempt",
        ),
        AttemptStatus::Expired | AttemptStatus::Blocked(_) | AttemptStatus::NoArtifact(_) => (
            Next::Open,
            "the attempt has ended or its value has expired; open another attempt",
        ),
    }
}

#[cfg(test)]
mod tests {
    use pipeline::{AttemptId, AttemptRules, MissKind, Timestamp, Wanted};

    use super::*;

    fn view(seconds_open: u64) -> AttemptView {
        let at = |second: i64| Timestamp::from_millis(second * 1000);
        AttemptView {
            id: AttemptId::new(),
            inbox: "agent@inbox.test".parse().unwrap(),
            rules: AttemptRules {
                wanted: Wanted::Code,
                senders: Vec::new(),
                needs_proof: false,
                links: None,
                token: None,
                expected: None,
            },
            callback: None,
            callback_state: None,
            opened_at: at(0),
            deadline: at(600),
            remaining: Duration::from_secs(600 - seconds_open),
            is_over: false,
            inbox_has_ended: false,
            resends_left: 1,
            resent_at: None,
            outcome: None,
            current: None,
            has_consumed: false,
            miss: None,
            miss_seen: None,
        }
    }

    fn next(view: &AttemptView, may_name_links: bool) -> Next {
        advice(view, &view.status(), false, may_name_links).0
    }

    #[test]
    fn what_a_rule_refuses_is_not_requested_again() {
        for (kind, reason, wanted) in [
            (MissKind::Blocked, "sender_not_allowed", Next::Open),
            (MissKind::Blocked, "sender_not_verified", Next::TellOperator),
            (MissKind::Blocked, "host_not_allowed", Next::Open),
            (MissKind::Blocked, "token_missing", Next::Open),
            (MissKind::NoArtifact, "link_instead", Next::Open),
            (MissKind::NoArtifact, "code_instead", Next::Open),
            (MissKind::NoArtifact, "already_consumed", Next::Wait),
            (MissKind::NoArtifact, "not_convincing", Next::Resend),
        ] {
            let view = AttemptView {
                miss: Some((kind, Reason::new(reason))),
                ..view(5)
            };
            assert_eq!(next(&view, true), wanted, "{reason}");
        }
        let view = AttemptView {
            miss: Some((MissKind::Blocked, Reason::new("host_not_allowed"))),
            ..view(5)
        };
        assert_eq!(next(&view, false), Next::TellOperator);
    }

    #[test]
    fn after_a_minute_without_mail_one_resend_is_advised_within_the_budget() {
        assert_eq!(next(&view(59), true), Next::Wait);
        assert_eq!(next(&view(61), true), Next::Resend);
        let spent = AttemptView {
            resends_left: 0,
            ..view(61)
        };
        assert_eq!(next(&spent, true), Next::Wait);
        let resent = |second: i64, open| AttemptView {
            resent_at: Some(Timestamp::from_millis(second * 1000)),
            ..view(open)
        };
        assert_eq!(next(&resent(70, 100), true), Next::Wait);
        assert_eq!(next(&resent(70, 131), true), Next::Resend);
    }
}
