//! The row of an attempt, and what the pipeline is shown of it.

use pipeline::{AttemptId, AttemptOutcome, AttemptView, CallbackState, MissKind, Reason, Scope};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::Moment;
use crate::fault::Fault;
use crate::feed::{self, Item};
use crate::stored::{inbox, span};
use crate::waiting::RulesRow;

row! {
    /// An attempt, with what it needs to know of its inbox.
    pub(super) struct AttemptRow {
        pub(super) id: Uuid,
        pub(super) inbox: String,
        /// Who opened it.
        pub(super) owner: String,
        /// Who owns the inbox: a scope is judged by it.
        pub(super) inbox_owner: Option<String>,
        callback: Option<String>,
        callback_state: Option<String>,
        opened_at: Moment,
        deadline: Moment,
        pub(super) remaining_ms: i64,
        /// How long its inbox takes mail, if that has an end.
        inbox_remaining_ms: Option<i64>,
        pub(super) resends_left: i32,
        resent_at: Option<Moment>,
        pub(super) outcome: Option<String>,
        current: Option<Uuid>,
        has_consumed: bool,
        miss: Option<String>,
        miss_reason: Option<String>,
        miss_seen: Option<String>,
        pub(super) request: Vec<u8>,
        ..rules: RulesRow
    }
}

/// The row of an attempt.
pub(super) async fn find<B: Backend>(
    connection: &mut Connection<B>,
    attempt: AttemptId,
) -> Result<Option<AttemptRow>, Fault> {
    query::<B>(Sql {
        postgres: "SELECT t.id, t.inbox, t.wanted, t.senders, t.needs_proof, t.links, t.token, t.expected,
                          t.callback, t.opened_at, t.deadline, t.resent_at, t.outcome, t.current,
                          t.miss, t.miss_reason, t.miss_seen, t.request, t.owner, i.owner AS inbox_owner,
                          (extract(epoch FROM t.deadline - clock_timestamp()) * 1000)::bigint
                              AS remaining_ms,
                          (extract(epoch FROM i.expires_at - clock_timestamp()) * 1000)::bigint
                              AS inbox_remaining_ms,
                          t.resends - t.resends_used AS resends_left,
                          (SELECT state FROM callbacks WHERE artifact_id = t.current)
                              AS callback_state,
                          EXISTS (SELECT 1 FROM artifacts a JOIN consumes c ON c.artifact_id = a.id
                                  WHERE a.attempt_id = t.id) AS has_consumed
                   FROM attempts t JOIN inboxes i ON i.inbox = t.inbox
                   WHERE t.id = $1",
        sqlite: "SELECT t.id, t.inbox, t.wanted, t.senders, t.needs_proof, t.links, t.token, t.expected,
                        t.callback, t.opened_at, t.deadline, t.resent_at, t.outcome, t.current,
                        t.miss, t.miss_reason, t.miss_seen, t.request, t.owner, i.owner AS inbox_owner,
                        t.deadline - clock.now AS remaining_ms,
                        i.expires_at - clock.now AS inbox_remaining_ms,
                        t.resends - t.resends_used AS resends_left,
                        (SELECT state FROM callbacks WHERE artifact_id = t.current)
                            AS callback_state,
                        EXISTS (SELECT 1 FROM artifacts a JOIN consumes c ON c.artifact_id = a.id
                                WHERE a.attempt_id = t.id) AS has_consumed
                 FROM clock, attempts t JOIN inboxes i ON i.inbox = t.inbox
                 WHERE t.id = $1",
    })
    .bind(attempt.as_uuid())
    .fetch_optional(connection)
    .await
}

/// The row of an attempt in the scope.
pub(super) async fn find_in<B: Backend>(
    connection: &mut Connection<B>,
    attempt: AttemptId,
    scope: &Scope,
) -> Result<Option<AttemptRow>, Fault> {
    let Some(row) = find::<B>(connection, attempt).await? else {
        return Ok(None);
    };
    let is_covered = scope.covers(&inbox(&row.inbox)?, row.inbox_owner.as_deref());
    Ok(is_covered.then_some(row))
}

/// The attempt with its newest artifact.
pub(super) async fn view<B: Backend>(
    connection: &mut Connection<B>,
    row: AttemptRow,
) -> Result<AttemptView, Fault> {
    let current = match row.current {
        Some(id) => feed::item::<B>(connection, id).await?,
        None => None,
    };
    row.view(current)
}

impl AttemptRow {
    /// Whether it is open and has no artifact.
    pub(super) fn is_waiting(&self) -> bool {
        self.outcome.is_none() && self.remaining_ms > 0 && self.current.is_none()
    }

    fn view(self, current: Option<Item>) -> Result<AttemptView, Fault> {
        let miss = match (self.miss, self.miss_reason) {
            (Some(kind), Some(reason)) => {
                let kind = MissKind::from_word(&kind).ok_or(Fault::Damaged("miss"))?;
                Some((kind, Reason::from_stored(&reason)))
            }
            _ => None,
        };
        let remaining_ms = self.inbox_remaining_ms.unwrap_or(i64::MAX);
        let remaining_ms = remaining_ms.min(self.remaining_ms);
        let callback_state = self.callback_state;
        let callback_state = callback_state
            .map(|word| CallbackState::from_word(&word).ok_or(Fault::Damaged("callback state")));
        let outcome = self
            .outcome
            .map(|word| AttemptOutcome::from_word(&word).ok_or(Fault::Damaged("outcome")));
        Ok(AttemptView {
            id: AttemptId::from_uuid(self.id),
            inbox: inbox(&self.inbox)?,
            rules: self.rules.try_into()?,
            callback: self.callback,
            callback_state: callback_state.transpose()?,
            opened_at: self.opened_at.into(),
            deadline: self.deadline.into(),
            remaining: span(remaining_ms),
            is_over: self.remaining_ms <= 0,
            inbox_has_ended: self.inbox_remaining_ms.is_some_and(|left| left <= 0),
            resends_left: u32::try_from(self.resends_left).unwrap_or(0),
            resent_at: self.resent_at.map(Into::into),
            outcome: outcome.transpose()?,
            current: current.map(TryInto::try_into).transpose()?,
            has_consumed: self.has_consumed,
            miss,
            miss_seen: self.miss_seen,
        })
    }
}
