//! From the rows of inboxes and attempts to the words of the pipeline.

use pipeline::{
    AttemptRules, CodeForm, Expectation, InboundRule, InboxId, InboxRules, InboxView, OpenAttempt,
    Wanted,
};

use crate::backend::row;
use crate::column::Moment;
use crate::fault::Fault;
use crate::stored::{inbox, span, split};

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
        inbound_rules: Option<String>,
        pub(crate) is_expired: bool,
    }
}

/// The columns of an [`InboxRow`] but `is_expired`. No statement selects `*`: Postgres
/// refuses a prepared one whose columns have changed, so a migration that adds a column
/// would stop the processes that run.
macro_rules! inbox_columns {
    () => {
        "inbox, owner, senders, needs_proof, links, lifetime_ms, retention_ms, metadata, \
         created_at, expires_at, inbound_rules"
    };
}

pub(crate) use inbox_columns;

impl InboxRow {
    fn rules(&self) -> InboxRules {
        InboxRules {
            senders: split(&self.senders),
            needs_proof: self.needs_proof,
            links: self.links.as_deref().map(split),
            lifetime: self.lifetime_ms.map(span),
        }
    }

    /// Its own rules for mail.
    pub(crate) fn inbound(&self) -> Result<Vec<InboundRule>, Fault> {
        let Some(text) = &self.inbound_rules else {
            return Ok(Vec::new());
        };
        serde_json::from_str(text).or(Err(Fault::Damaged("inbound_rules")))
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
            owner: self.owner.clone(),
            rules: self.rules(),
            inbound: self.inbound()?,
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
        owner: None,
        rules: InboxRules::default(),
        inbound: Vec::new(),
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

row! {
    /// The rules of an attempt: which mail matches it.
    pub(crate) struct RulesRow {
        wanted: String,
        senders: String,
        needs_proof: bool,
        links: Option<String>,
        token: Option<String>,
        expected: Option<String>,
    }
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
            expected: row.expected.as_deref().map(form).transpose()?,
        })
    }
}

fn form(text: &str) -> Result<CodeForm, Fault> {
    text.parse().map_err(|_invalid| Fault::Damaged("expected"))
}
