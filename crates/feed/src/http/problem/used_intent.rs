//! The guard or the send that has an intent, in a problem.

use pipeline::{SendKind, SendState, SendView, Timestamp};

/// Which row has an intent, and in which state.
#[derive(Debug)]
pub(crate) struct UsedIntent {
    pub(super) id: String,
    pub(super) state: &'static str,
    pub(super) since: Timestamp,
}

impl UsedIntent {
    /// An example, for the `OpenAPI` document.
    pub(super) fn example() -> Self {
        Self {
            id: String::new(),
            state: guard_state(SendState::Uncertain),
            since: Timestamp::from_millis(0),
        }
    }
}

impl From<&SendView> for UsedIntent {
    fn from(view: &SendView) -> Self {
        Self {
            id: view.public_id(),
            state: send_state(view),
            since: view.created_at,
        }
    }
}

/// The word for the state of a send or a guard.
pub(crate) fn send_state(view: &SendView) -> &'static str {
    match view.kind {
        SendKind::Guard => guard_state(view.state),
        SendKind::Send => view.state.as_str(),
    }
}

/// The word for the state of a guard.
pub(crate) fn guard_state(state: SendState) -> &'static str {
    match state {
        SendState::Held | SendState::Claimed | SendState::Dispatched => "claimed",
        SendState::Ready => "released",
        SendState::Sent => "done",
        SendState::Failed | SendState::Cancelled => "abandoned",
        SendState::Uncertain => "uncertain",
    }
}
