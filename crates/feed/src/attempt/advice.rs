//! What an agent should do next, as a word and as a sentence.

use pipeline::{AttemptStatus, AttemptView, CallbackState, GIVEN_TO_ANOTHER_ATTEMPT};
use serde::Serialize;

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

/// The next step for an attempt.
pub(super) fn advice(
    view: &AttemptView,
    status: &AttemptStatus,
    is_unhealthy: bool,
) -> (Next, &'static str) {
    let can_resend = view.resends_left > 0 && view.may_change();
    match view.callback_state {
        Some(CallbackState::Pending) => (Next::Nothing, "the value is being sent to the callback"),
        Some(CallbackState::Dead) => (
            Next::TellOperator,
            "the callback did not accept the value; the operator can send it again",
        ),
        Some(CallbackState::Done) | None => by_status(status, is_unhealthy, can_resend),
    }
}

fn by_status(status: &AttemptStatus, is_unhealthy: bool, can_resend: bool) -> (Next, &'static str) {
    match status {
        AttemptStatus::Pending | AttemptStatus::NothingArrived if is_unhealthy => (
            Next::TellOperator,
            "mail is waiting to be processed; the operator should check the workers",
        ),
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
        AttemptStatus::Blocked(_) if can_resend => (
            Next::Resend,
            "a message arrived and a rule withheld it; change the rule or request another",
        ),
        AttemptStatus::Blocked(_) => (
            Next::TellOperator,
            "a message arrived and a rule withheld it; ask the operator about the allowlist",
        ),
        AttemptStatus::NoArtifact(reason) if *reason == GIVEN_TO_ANOTHER_ATTEMPT => (
            Next::Open,
            "a message arrived and went to another attempt on the same inbox; open another \
             attempt, or use a separate inbox",
        ),
        AttemptStatus::NoArtifact(_) if can_resend => (
            Next::Resend,
            "a message arrived without a safe code or link; request another",
        ),
        AttemptStatus::NoArtifact(_) => (
            Next::Open,
            "a message arrived without a safe code or link; open another attempt",
        ),
        AttemptStatus::NothingArrived => (
            Next::Open,
            "no message arrived in time; check the address you gave, and open another attempt",
        ),
        AttemptStatus::Expired => (
            Next::Open,
            "the attempt has ended or its value has expired; open another attempt",
        ),
    }
}
