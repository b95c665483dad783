//! An attempt as an agent sees it: its state, the reason, and what to do next.

use pipeline::{
    AttemptId, AttemptOutcome, AttemptStatus, AttemptView, CallbackState, InboxId, Reason,
    Timestamp, Wanted,
};
use serde::Serialize;

use super::advice::{Next, advice};
use crate::http::problem::Problem;
use crate::http::timeout::ask_store;
use crate::items::{ItemBody, ShownSender};
use crate::state::Feed;

/// Everything that the API says about an attempt. It never contains the value.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct AttemptBody {
    #[schema(value_type = String)]
    id: AttemptId,
    /// The address to give to the sender of the mail.
    #[schema(value_type = String)]
    inbox: InboxId,
    #[schema(value_type = String)]
    kind: Wanted,
    state: AttemptState,
    /// Which rule withheld a message, or why nothing safe was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    reason: Option<Reason>,
    /// The domain that a list lacks: of the sender for `sender_not_allowed`, of the link's
    /// host for `host_not_allowed`. The sender of the mail chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    /// Which part of the server does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<Component>,
    /// What to do now.
    next: Next,
    /// The same as a sentence.
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
    artifact: Option<ItemBody>,
}

/// The state of an attempt, one of a fixed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AttemptState)]
enum AttemptState {
    /// No message has arrived yet.
    Pending,
    /// There is a value to consume.
    Ready,
    /// The value is consumed.
    Consumed,
    /// A newer message arrived after the value was consumed.
    Superseded,
    /// A message arrived, and a rule withholds it.
    Blocked,
    /// A message arrived without a safe code or link.
    NoArtifact,
    /// No message arrived before the deadline.
    NothingArrived,
    /// The attempt or its value has ended.
    Expired,
    /// Unknown, because a part of the server does not work.
    Unhealthy,
}

/// A part of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Component {
    /// The process that reads mail.
    Worker,
}

impl AttemptBody {
    /// Describes an attempt. For one without mail it also checks the backlog.
    pub(crate) async fn new(feed: &Feed, view: AttemptView) -> Result<Self, Problem> {
        let component = unhealthy_component(feed, &view).await?;
        Ok(Self::with_component(feed, view, component))
    }

    fn with_component(feed: &Feed, view: AttemptView, component: Option<Component>) -> Self {
        let shown = ShownSender::named(&feed.deps.policy, &view.rules.senders);
        let status = view.status();
        let (state, reason) = state_of(&view, &status, component.is_some());
        let may_name_links = feed.deps.policy.link_ceiling.is_none();
        let (next, hint) = advice(&view, &status, component.is_some(), may_name_links);
        let is_of_domain = reason
            .as_ref()
            .is_some_and(|one| ["sender_not_allowed", "host_not_allowed"].contains(&one.as_str()));
        let seen = view.miss_seen.as_deref().filter(|_| is_of_domain);
        let seen = seen.and_then(|domain| shown.registrable(domain));
        Self {
            id: view.id,
            inbox: view.inbox,
            kind: view.rules.wanted,
            state,
            reason,
            seen,
            component,
            next,
            hint,
            opened_at: view.opened_at,
            deadline: view.deadline,
            resends_left: view.resends_left,
            outcome: view.outcome,
            callback: view.callback,
            artifact: view.current.map(|item| ItemBody::new(item, &shown)),
        }
    }
}

fn state_of(
    view: &AttemptView,
    status: &AttemptStatus,
    is_unhealthy: bool,
) -> (AttemptState, Option<Reason>) {
    match status {
        AttemptStatus::Pending | AttemptStatus::NothingArrived if is_unhealthy => {
            (AttemptState::Unhealthy, None)
        }
        AttemptStatus::Pending => (AttemptState::Pending, None),
        AttemptStatus::Ready => (AttemptState::Ready, None),
        AttemptStatus::Consumed => (AttemptState::Consumed, callback_reason(view.callback_state)),
        AttemptStatus::Superseded => (AttemptState::Superseded, None),
        AttemptStatus::Blocked(reason) => (AttemptState::Blocked, Some(reason.clone())),
        AttemptStatus::NoArtifact(reason) => (AttemptState::NoArtifact, Some(reason.clone())),
        AttemptStatus::NothingArrived => (AttemptState::NothingArrived, None),
        AttemptStatus::Expired if view.inbox_has_ended => {
            (AttemptState::Expired, Some(Reason::new("inbox_ended")))
        }
        AttemptStatus::Expired if view.outcome.is_some() => {
            (AttemptState::Expired, Some(Reason::new("finished")))
        }
        AttemptStatus::Expired => (AttemptState::Expired, None),
    }
}

/// Why a value that was consumed for a callback has not reached it.
fn callback_reason(state: Option<CallbackState>) -> Option<Reason> {
    match state? {
        CallbackState::Pending => Some(Reason::new("callback_pending")),
        CallbackState::Dead => Some(Reason::new("callback_dead")),
        CallbackState::Done => None,
    }
}

/// The part of the server that may be the reason why an attempt has no mail, if any.
/// After the deadline it is unhealthy only while mail that was due before the deadline is
/// unprocessed: until then it is unknown whether mail for the attempt arrived.
async fn unhealthy_component(
    feed: &Feed,
    view: &AttemptView,
) -> Result<Option<Component>, Problem> {
    let since = match view.status() {
        AttemptStatus::Pending if view.may_change() => None,
        // A backlog that was read before the deadline may lack mail that arrived later.
        AttemptStatus::NothingArrived if view.outcome.is_none() => Some(view.deadline),
        _ => return Ok(None),
    };
    let backlog = ask_store(feed.backlog.read(since)).await?;
    let is_late = backlog.overdue > feed.deps.policy.unhealthy_after
        && backlog.overdue > backlog.at.since(view.deadline);
    Ok(is_late.then_some(Component::Worker))
}
