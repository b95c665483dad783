//! The row of a send or a guard.

use pipeline::{
    IntentLabel, MessageId, ProviderKey, Reason, Receipt, SendId, SendKind, SendState, SendView,
};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::Moment;
use crate::fault::Fault;
use crate::stored::attempts;

use super::event::Event;

row! {
    /// A send or a guard without its content.
    pub(super) struct SendRow {
        pub(super) id: Uuid,
        kind: String,
        pub(super) sender: String,
        action: String,
        provider_key: Vec<u8>,
        intent_type: Option<String>,
        entity: Option<String>,
        version: Option<i64>,
        reply_to: Option<Uuid>,
        pub(super) fingerprint: Option<Vec<u8>>,
        provider: Option<String>,
        /// The state; a guard whose lease is over is `uncertain`.
        state: String,
        /// The state as it is stored.
        pub(super) stored_state: String,
        tries: i32,
        pub(super) claim_token: Option<Uuid>,
        lease_until: Option<Moment>,
        /// How many milliseconds the lease still lasts.
        pub(super) lease_ms: Option<i64>,
        pub(super) asked: Option<Vec<u8>>,
        first_dispatched_at: Option<Moment>,
        receipt: Option<String>,
        reason: Option<String>,
        created_at: Moment,
        finished_at: Option<Moment>,
    }
}

/// The columns of a [`SendRow`] in Postgres.
macro_rules! postgres_columns {
    () => {
        "id, kind, sender, action, provider_key, intent_type, entity, version, reply_to,
         fingerprint, provider,
         CASE WHEN kind = 'guard' AND state = 'dispatched'
                   AND lease_until <= clock_timestamp()
              THEN 'uncertain' ELSE state END AS state,
         state AS stored_state, tries, claim_token, lease_until,
         ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint AS lease_ms,
         asked, first_dispatched_at, receipt, reason, created_at, finished_at "
    };
}

/// The same in `SQLite`.
macro_rules! sqlite_columns {
    () => {
        "id, kind, sender, action, provider_key, intent_type, entity, version, reply_to,
         fingerprint, provider,
         CASE WHEN kind = 'guard' AND state = 'dispatched'
                   AND lease_until <= (SELECT now FROM clock)
              THEN 'uncertain' ELSE state END AS state,
         state AS stored_state, tries, claim_token, lease_until,
         lease_until - (SELECT now FROM clock) AS lease_ms,
         asked, first_dispatched_at, receipt, reason, created_at, finished_at "
    };
}

pub(super) use {postgres_columns, sqlite_columns};

impl SendRow {
    /// The state; a guard whose lease is over is `uncertain`.
    pub(super) fn state(&self) -> Result<SendState, Fault> {
        SendState::from_word(&self.state).ok_or(Fault::Damaged("state"))
    }

    pub(super) fn kind(&self) -> Result<SendKind, Fault> {
        SendKind::from_word(&self.kind).ok_or(Fault::Damaged("kind"))
    }

    pub(super) fn view(self) -> Result<SendView, Fault> {
        let state = self.state()?;
        let key: [u8; 32] = self
            .provider_key
            .try_into()
            .or(Err(Fault::Damaged("provider_key")))?;
        let label = match (self.intent_type, self.entity, self.version) {
            (Some(kind), Some(entity), Some(version)) => Some(IntentLabel {
                kind,
                entity,
                version: u32::try_from(version).or(Err(Fault::Damaged("version")))?,
            }),
            _ => None,
        };
        let receipt = self.receipt.as_deref().map(str::parse::<Receipt>);
        let is_leased = matches!(state, SendState::Claimed | SendState::Dispatched);
        Ok(SendView {
            id: SendId::from_uuid(self.id),
            kind: SendKind::from_word(&self.kind).ok_or(Fault::Damaged("kind"))?,
            sender: self.sender.parse().or(Err(Fault::Damaged("sender")))?,
            action: self.action.parse().or(Err(Fault::Damaged("action")))?,
            label,
            reply_to: self.reply_to.map(MessageId::from_uuid),
            provider_key: ProviderKey::from_bytes(key),
            provider: self.provider,
            state,
            tries: attempts(self.tries)?,
            reason: self.reason.as_deref().map(Reason::from_stored),
            receipt: receipt.transpose().or(Err(Fault::Damaged("receipt")))?,
            created_at: self.created_at.into(),
            first_dispatched_at: self.first_dispatched_at.map(Into::into),
            lease_until: self.lease_until.filter(|_| is_leased).map(Into::into),
            finished_at: self.finished_at.map(Into::into),
        })
    }
}

/// The row with this id.
pub(super) async fn find<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
) -> Result<Option<SendRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!("SELECT ", postgres_columns!(), "FROM sends WHERE id = $1"),
        sqlite: concat!("SELECT ", sqlite_columns!(), "FROM sends WHERE id = $1"),
    })
    .bind(id)
    .fetch_optional(connection)
    .await
}

/// The row with this id, locked until the transaction ends.
pub(super) async fn lock<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
) -> Result<Option<SendRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "SELECT ",
            postgres_columns!(),
            "FROM sends WHERE id = $1 FOR UPDATE"
        ),
        // The transaction has the lock of the one writer already.
        sqlite: concat!("SELECT ", sqlite_columns!(), "FROM sends WHERE id = $1"),
    })
    .bind(id)
    .fetch_optional(connection)
    .await
}

/// The reply to a message.
pub(super) async fn find_reply<B: Backend>(
    connection: &mut Connection<B>,
    message: Uuid,
) -> Result<Option<SendRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "SELECT ",
            postgres_columns!(),
            "FROM sends WHERE reply_to = $1"
        ),
        sqlite: concat!(
            "SELECT ",
            sqlite_columns!(),
            "FROM sends WHERE reply_to = $1"
        ),
    })
    .bind(message)
    .fetch_optional(connection)
    .await
}

/// The row of an intent, locked until the transaction ends.
pub(super) async fn lock_intent<B: Backend>(
    connection: &mut Connection<B>,
    sender: &str,
    key: &ProviderKey,
) -> Result<Option<SendRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "SELECT ",
            postgres_columns!(),
            "FROM sends WHERE sender = $1 AND intent_key = $2 FOR UPDATE"
        ),
        sqlite: concat!(
            "SELECT ",
            sqlite_columns!(),
            "FROM sends WHERE sender = $1 AND intent_key = $2"
        ),
    })
    .bind(sender)
    .bind(&key.intent_key()[..])
    .fetch_optional(connection)
    .await
}

/// Stores that the lease of a guard is over, which its row shows already.
pub(super) async fn end_lease<B: Backend>(
    connection: &mut Connection<B>,
    row: &SendRow,
) -> Result<(), Fault> {
    if row.state()? != SendState::Uncertain || row.stored_state != "dispatched" {
        return Ok(());
    }
    query::<B>(Sql::both(
        "UPDATE sends SET state = 'uncertain', reason = 'lease_over', lease_until = NULL
         WHERE id = $1 AND state = 'dispatched'",
    ))
    .bind(row.id)
    .execute(connection)
    .await?;
    Event::new("uncertain")
        .because("lease_over")
        .add::<B>(connection, row.id)
        .await
}
