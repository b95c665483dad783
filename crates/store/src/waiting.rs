//! From the rows of inboxes and attempts to the words of the pipeline.

use pipeline::{
    AttemptId, AttemptOutcome, AttemptRules, AttemptView, CallbackState, Expectation, InboxId,
    InboxRules, InboxView, MissKind, OpenAttempt, Reason, Timestamp, Wanted,
};
use uuid::Uuid;

use crate::backend::row;
use crate::column::Moment;
use crate::fault::Fault;
use crate::stored::{Item, inbox, span, split};

row! {
    /// An inbox.
    pub(crate) struct InboxRow {
        pub(crate) inbox: String,
        pub(crate) owner: Option<String>,
        senders: String,
        needs_proof: bool,
        links: Option<String>,
        lifetime_ms: Option<i64>,
        retention_ms: Option<i64>,
        metadata: Option<String>,
        created_at: Moment,
        pub(crate) expires_at: Option<Moment>,
        pub(crate) is_expired: bool,
    }
}

impl InboxRow {
    fn rules(&self) -> InboxRules {
        InboxRules {
            senders: split(&self.senders),
            needs_proof: self.needs_proof,
            links: self.links.as_deref().map(split),
            lifetime: self.lifetime_ms.map(span),
        }
    }

    /// What the worker has to know of it for mail to `address`.
    pub(crate) fn expectation(
        &self,
        address: InboxId,
        attempts: Vec<OpenAttempt>,
    ) -> Result<Expectation, Fault> {
        Ok(Expectation {
            address,
            inbox: Some(inbox(&self.inbox)?),
            rules: self.rules(),
            is_expired: self.is_expired,
            attempts,
        })
    }
}

/// What is expected at an address that stands for no inbox yet.
pub(crate) fn nothing_expected(address: InboxId) -> Expectation {
    Expectation {
        address,
        inbox: None,
        rules: InboxRules::default(),
        is_expired: false,
        attempts: Vec::new(),
    }
}

impl TryFrom<InboxRow> for InboxView {
    type Error = Fault;

    fn try_from(row: InboxRow) -> Result<Self, Fault> {
        Ok(Self {
            inbox: inbox(&row.inbox)?,
            rules: row.rules(),
            owner: row.owner,
            metadata: row.metadata,
            created_at: row.created_at.into(),
            expires_at: row.expires_at.map(Into::into),
            is_expired: row.is_expired,
            retention: row.retention_ms.map(span),
        })
    }
}

/// The columns that say which mail counts.
pub(crate) struct RulesRow {
    pub(crate) wanted: String,
    pub(crate) senders: String,
    pub(crate) needs_proof: bool,
    pub(crate) links: Option<String>,
    pub(crate) token: Option<String>,
}

impl TryFrom<RulesRow> for AttemptRules {
    type Error = Fault;

    fn try_from(row: RulesRow) -> Result<Self, Fault> {
        Ok(Self {
            wanted: Wanted::from_word(&row.wanted).ok_or(Fault::Damaged("wanted"))?,
            senders: split(&row.senders),
            needs_proof: row.needs_proof,
            links: row.links.as_deref().map(split),
            token: row.token,
        })
    }
}

/// An attempt, column by column.
pub(crate) struct AttemptRow {
    pub(crate) id: Uuid,
    pub(crate) inbox: String,
    /// Who owns the inbox, for whoever judges a scope.
    pub(crate) inbox_owner: Option<String>,
    pub(crate) rules: RulesRow,
    pub(crate) callback: Option<String>,
    pub(crate) callback_state: Option<String>,
    pub(crate) opened_at: Timestamp,
    pub(crate) deadline: Timestamp,
    pub(crate) remaining_ms: i64,
    /// How long its inbox takes mail, if that has an end.
    pub(crate) inbox_remaining_ms: Option<i64>,
    pub(crate) resends_left: i32,
    pub(crate) resent_at: Option<Timestamp>,
    pub(crate) outcome: Option<String>,
    pub(crate) current: Option<Uuid>,
    pub(crate) has_consumed: bool,
    pub(crate) miss: Option<String>,
    pub(crate) miss_reason: Option<String>,
    pub(crate) request: Vec<u8>,
}

impl AttemptRow {
    /// The attempt and its newest artifact.
    pub(crate) fn view(self, current: Option<Item>) -> Result<AttemptView, Fault> {
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
            opened_at: self.opened_at,
            deadline: self.deadline,
            remaining: span(remaining_ms),
            is_over: self.remaining_ms <= 0,
            inbox_has_ended: self.inbox_remaining_ms.is_some_and(|left| left <= 0),
            resends_left: u32::try_from(self.resends_left).unwrap_or(0),
            resent_at: self.resent_at,
            outcome: outcome.transpose()?,
            current: current.map(TryInto::try_into).transpose()?,
            has_consumed: self.has_consumed,
            miss,
        })
    }
}
