//! Inboxes: who owns them and which rules they have.

mod end;
mod inbound;
mod list;

use async_trait::async_trait;
use pipeline::{
    Created, InboundRule, InboxId, InboxLog, InboxView, NewInbox, Request, Scope, StoreError,
};

use crate::backend::{Backend, Connection, Sql, query};
use crate::column::List;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::stored::{joined, millis};
use crate::uncancelled::SHORT;
use crate::waiting::{InboxRow, inbox_columns};

#[async_trait]
impl<B: Backend> InboxLog for Database<B> {
    async fn create_inbox(&self, inbox: NewInbox) -> Result<Created<InboxView>, StoreError> {
        self.run(SHORT, |session| create(session, inbox)).await
    }

    async fn inbox(&self, inbox: &InboxId, scope: &Scope) -> Result<Option<InboxView>, StoreError> {
        let (inbox, scope) = (inbox.clone(), scope.clone());
        self.run(SHORT, |session| look_up(session, inbox, scope))
            .await
    }

    async fn inboxes(
        &self,
        scope: &Scope,
        after: Option<&InboxId>,
        limit: u32,
    ) -> Result<Vec<InboxView>, StoreError> {
        let after = after.map_or("", InboxId::as_str).to_owned();
        let scope = scope.clone();
        self.run(SHORT, |session| list::list(session, scope, after, limit))
            .await
    }

    async fn expire_inbox(
        &self,
        inbox: &InboxId,
        scope: &Scope,
    ) -> Result<Option<InboxView>, StoreError> {
        let (inbox, scope) = (inbox.clone(), scope.clone());
        self.run(SHORT, |session| end::expire(session, inbox, scope))
            .await
    }

    async fn rotate_inbox(
        &self,
        inbox: &InboxId,
        to: &InboxId,
        scope: &Scope,
        asked: Option<&Request>,
    ) -> Result<Created<InboxView>, StoreError> {
        let rotation = end::Rotation {
            from: inbox.clone(),
            to: to.clone(),
            scope: scope.clone(),
            asked: asked.cloned(),
        };
        self.run(SHORT, |session| end::rotate(session, rotation))
            .await
    }

    async fn inbound_rules(
        &self,
        inbox: &InboxId,
        scope: &Scope,
    ) -> Result<Option<Vec<InboundRule>>, StoreError> {
        let (inbox, scope) = (inbox.clone(), scope.clone());
        self.run(SHORT, |session| inbound::read(session, inbox, scope))
            .await
    }

    async fn set_inbound_rules(
        &self,
        inbox: &InboxId,
        scope: &Scope,
        rules: Vec<InboundRule>,
    ) -> Result<bool, StoreError> {
        let (inbox, scope) = (inbox.clone(), scope.clone());
        self.run(SHORT, |session| inbound::set(session, inbox, scope, rules))
            .await
    }
}

async fn create<B: Backend>(
    session: Session<B>,
    inbox: NewInbox,
) -> Result<Created<InboxView>, Fault> {
    let mut transaction = session.begin().await?;
    let made = inbox.inbox.as_str();
    let noted = requests::note::<B>(&mut transaction, inbox.asked.as_ref(), made).await?;
    if let Some(repeated) = repeated::<B>(&mut transaction, noted).await? {
        transaction.rollback().await?;
        return Ok(repeated);
    }
    let row: Option<InboxRow> = query::<B>(Sql {
        postgres: concat!(
            "INSERT INTO inboxes
                 (inbox, owner, senders, links, lifetime_ms, retention_ms, metadata,
                  needs_proof, expires_at, created_at)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, now + $9 * interval '1 millisecond', now
             FROM clock_timestamp() AS now
             ON CONFLICT (inbox) DO NOTHING
             RETURNING ",
            inbox_columns!(),
            ", false AS is_expired"
        ),
        sqlite: concat!(
            "INSERT INTO inboxes
                 (inbox, owner, senders, links, lifetime_ms, retention_ms, metadata,
                  needs_proof, expires_at, created_at)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, now + $9, now
             FROM clock WHERE true
             ON CONFLICT (inbox) DO NOTHING
             RETURNING ",
            inbox_columns!(),
            ", false AS is_expired"
        ),
    })
    .bind(inbox.inbox.as_str())
    .bind(inbox.owner.as_str())
    .bind(joined(&inbox.rules.senders))
    .bind(inbox.rules.links.as_deref().map(joined))
    .bind(inbox.rules.lifetime.map(millis))
    .bind(inbox.retention.map(millis))
    .bind(inbox.metadata)
    .bind(inbox.rules.needs_proof)
    .bind(inbox.expires_in.map(millis))
    .fetch_optional(&mut transaction)
    .await?;
    let Some(row) = row else {
        transaction.rollback().await?;
        return Ok(Created::Refused);
    };
    transaction.commit().await?;
    Ok(Created::New(row.try_into()?))
}

/// The answer to a request that came before; nothing if it is new.
async fn repeated<B: Backend>(
    connection: &mut Connection<B>,
    noted: Noted,
) -> Result<Option<Created<InboxView>>, Fault> {
    match noted {
        Noted::New => Ok(None),
        Noted::Before(made) => {
            let row = find::<B>(connection, &made).await?.ok_or(Fault::Conflict)?;
            Ok(Some(Created::Known(row.try_into()?)))
        }
        Noted::Reused => Ok(Some(Created::KeyReused)),
    }
}

/// The row of an inbox.
pub(crate) async fn find<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &str,
) -> Result<Option<InboxRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= clock_timestamp(), false) AS is_expired
             FROM inboxes WHERE inbox = $1"
        ),
        sqlite: concat!(
            "SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= (SELECT now FROM clock), false) AS is_expired
             FROM inboxes WHERE inbox = $1"
        ),
    })
    .bind(inbox)
    .fetch_optional(connection)
    .await
}

/// The rows of inboxes.
pub(crate) async fn find_all<B: Backend>(
    connection: &mut Connection<B>,
    inboxes: Vec<String>,
) -> Result<Vec<InboxRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= clock_timestamp(), false) AS is_expired
             FROM inboxes WHERE inbox = ANY($1)"
        ),
        sqlite: concat!(
            "SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= (SELECT now FROM clock), false) AS is_expired
             FROM inboxes WHERE inbox IN (SELECT value FROM json_each($1))"
        ),
    })
    .bind(List(inboxes))
    .fetch_all(connection)
    .await
}

/// The row of an inbox, locked until the transaction ends. Whether it has expired is
/// judged after the lock was obtained, not before the wait for it.
pub(crate) async fn find_locked<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &str,
) -> Result<Option<InboxRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "WITH locked AS MATERIALIZED
                 (SELECT * FROM inboxes WHERE inbox = $1 FOR UPDATE)
             SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= clock_timestamp(), false) AS is_expired
             FROM locked"
        ),
        sqlite: concat!(
            "SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= (SELECT now FROM clock), false) AS is_expired
             FROM inboxes WHERE inbox = $1"
        ),
    })
    .bind(inbox)
    .fetch_optional(connection)
    .await
}

async fn look_up<B: Backend>(
    session: Session<B>,
    inbox: InboxId,
    scope: Scope,
) -> Result<Option<InboxView>, Fault> {
    let row = find::<B>(&mut *session.reader().await?, inbox.as_str()).await?;
    row.filter(|row| scope.covers(&inbox, row.owner.as_deref()))
        .map(TryInto::try_into)
        .transpose()
}
