//! How an attempt stands, as an agent is told: a closed word, why, and what to
//! do next.

use pipeline::{
    AttemptId, AttemptOutcome, AttemptStatus, AttemptView, CallbackState, GIVEN_TO_ANOTHER_ATTEMPT,
    InboxId, Reason, Timestamp, Wanted,
};
use serde::Serialize;

use crate::item::Item;
use crate::problem::Problem;
use crate::routes::Feed;

/// All that is said of an attempt. There is no value in it.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct Told {
    #[schema(value_type = String)]
    id: AttemptId,
    /// The address to give to whoever sends the mail.
    #[schema(value_type = String)]
    inbox: InboxId,
    #[schema(value_type = String)]
    kind: Wanted,
    state: State,
    /// Which rule blocks it, or why nothing safe was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    reason: Option<Reason>,
    /// Which part of the server is not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<Component>,
    /// What to do now.
    next: Next,
    #[schema(value_type = String)]
    hint: &'static str,
    #[schema(value_type = String, format = DateTime)]
    opened_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    deadline: Timestamp,
    resends_left: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    outcome: Option<AttemptOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<Item>,
}

/// How it stands, as a closed word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AttemptState)]
enum State {
    /// Nothing has come yet.
    Pending,
    /// Something is there to be consumed.
    Ready,
    /// Its value was given out.
    Consumed,
    /// A newer message has come after that.
    Superseded,
    /// A message came, and a rule keeps it back.
    Blocked,
    /// A message came with nothing safe in it.
    NoArtifact,
    /// No message came in time.
    NothingArrived,
    /// Its time is over.
    Expired,
    /// Nobody can say, for a part of the server is not well.
    Unhealthy,
}

/// A part of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Component {
    /// What processes mail.
    Worker,
}

/// The next step, as a closed word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Next {
    /// Ask again, with a wait.
    Wait,
    /// Consume it.
    Consume,
    /// Ask the sender for another mail, if the budget allows it.
    Resend,
    /// Open another attempt.
    Open,
    /// Tell the operator.
    TellOperator,
    /// Nothing.
    Nothing,
}

impl Told {
    /// What is said, after a look at the server's own health when nothing came.
    pub(crate) async fn of(feed: &Feed, view: AttemptView) -> Result<Self, Problem> {
        let component = unhealthy(feed, &view).await?;
        Ok(Self::plainly(view, component))
    }

    fn plainly(view: AttemptView, component: Option<Component>) -> Self {
        let status = view.status();
        let can_resend = view.resends_left > 0 && view.may_change();
        let (state, reason) = match &status {
            AttemptStatus::Pending | AttemptStatus::NothingArrived if component.is_some() => {
                (State::Unhealthy, None)
            }
            AttemptStatus::Pending => (State::Pending, None),
            AttemptStatus::Ready => (State::Ready, None),
            AttemptStatus::Consumed => (State::Consumed, on_its_way(view.callback_state)),
            AttemptStatus::Superseded => (State::Superseded, None),
            AttemptStatus::Blocked(reason) => (State::Blocked, Some(reason.clone())),
            AttemptStatus::NoArtifact(reason) => (State::NoArtifact, Some(reason.clone())),
            AttemptStatus::NothingArrived => (State::NothingArrived, None),
            AttemptStatus::Expired if view.inbox_has_ended => {
                (State::Expired, Some(Reason::new("inbox_ended")))
            }
            AttemptStatus::Expired if view.outcome.is_some() => {
                (State::Expired, Some(Reason::new("finished")))
            }
            AttemptStatus::Expired => (State::Expired, None),
        };
        let (next, hint) = match view.callback_state {
            Some(CallbackState::Pending) => {
                (Next::Nothing, "its value is on the way to the callback")
            }
            Some(CallbackState::Dead) => (
                Next::TellOperator,
                "the callback did not take its value; the operator can have it told again",
            ),
            _ => advice(&status, component.is_some(), can_resend),
        };
        Self {
            id: view.id,
            inbox: view.inbox,
            kind: view.rules.wanted,
            state,
            reason,
            component,
            next,
            hint,
            opened_at: view.opened_at,
            deadline: view.deadline,
            resends_left: view.resends_left,
            outcome: view.outcome,
            callback: view.callback,
            artifact: view.current.map(Item::of),
        }
    }
}

/// What keeps a value that was consumed for a callback from having reached it.
fn on_its_way(state: Option<CallbackState>) -> Option<Reason> {
    match state? {
        CallbackState::Pending => Some(Reason::new("callback_pending")),
        CallbackState::Dead => Some(Reason::new("callback_dead")),
        CallbackState::Done => None,
    }
}

/// What to do, in a word and in a sentence of ours.
fn advice(status: &AttemptStatus, is_unhealthy: bool, can_resend: bool) -> (Next, &'static str) {
    match status {
        AttemptStatus::Pending | AttemptStatus::NothingArrived if is_unhealthy => (
            Next::TellOperator,
            "mail waits to be processed; the operator should look at the workers",
        ),
        AttemptStatus::Pending => (Next::Wait, "nothing has arrived yet; ask again with a wait"),
        AttemptStatus::Ready => (Next::Consume, "consume it"),
        AttemptStatus::Superseded => (
            Next::Consume,
            "a newer message has come; consume it with a new Idempotency-Key",
        ),
        AttemptStatus::Consumed => (Next::Nothing, "its value was given out"),
        AttemptStatus::Blocked(_) if can_resend => (
            Next::Resend,
            "a message came and a rule kept it back; widen the rule or ask for another",
        ),
        AttemptStatus::Blocked(_) => (
            Next::TellOperator,
            "a message came and a rule kept it back; the operator's allowlist decides",
        ),
        AttemptStatus::NoArtifact(reason) if *reason == GIVEN_TO_ANOTHER_ATTEMPT => (
            Next::Open,
            "a message came and was given to another attempt that waits on the same inbox; \
             open another, or use an inbox of its own",
        ),
        AttemptStatus::NoArtifact(_) if can_resend => (
            Next::Resend,
            "a message came without anything safe to give out; ask for another",
        ),
        AttemptStatus::NoArtifact(_) => (
            Next::Open,
            "a message came without anything safe to give out; open another attempt",
        ),
        AttemptStatus::NothingArrived => (
            Next::Open,
            "no message came in time; check the address that was given, and open another attempt",
        ),
        AttemptStatus::Expired => (
            Next::Open,
            "no mail can come for it, or what came is too old; open another attempt",
        ),
    }
}

/// Which part of the server keeps mail from an attempt that hears nothing, if one
/// does. One whose deadline has passed is concerned by what was due before that:
/// as long as it lies there, nobody can say that nothing has arrived.
async fn unhealthy(feed: &Feed, view: &AttemptView) -> Result<Option<Component>, Problem> {
    let is_unheard = match view.status() {
        AttemptStatus::Pending => view.may_change(),
        AttemptStatus::NothingArrived => view.outcome.is_none(),
        _ => false,
    };
    if !is_unheard {
        return Ok(None);
    }
    let backlog = feed.unprocessed.backlog().await?;
    let is_late = backlog.overdue > feed.deps.policy.unhealthy_after
        && backlog.overdue > backlog.at.since(view.deadline);
    Ok(is_late.then_some(Component::Worker))
}
