//! Inboxes: whose they are and what was chosen for them.

use async_trait::async_trait;
use pipeline::{Created, InboxId, InboxLog, InboxView, NewInbox, Request, Scope, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, Row};
use time::OffsetDateTime;

use super::listen::CHANNEL;
use super::moment::{moment, timestamp};
use super::pool::Pool;
use super::{Postgres, requests};
use crate::fault::Fault;
use crate::requests::Noted;
use crate::stored::{joined, millis};
use crate::uncancelled::SHORT;
use crate::waiting::InboxRow;

#[async_trait]
impl InboxLog for Postgres {
    async fn create_inbox(&self, inbox: NewInbox) -> Result<Created<InboxView>, StoreError> {
        let work = create(self.pool.clone(), inbox);
        self.work.run(SHORT, work).await
    }

    async fn inbox(&self, inbox: &InboxId, scope: &Scope) -> Result<Option<InboxView>, StoreError> {
        let work = look_up(self.pool.clone(), inbox.clone(), scope.clone());
        self.work.run(SHORT, work).await
    }

    async fn inboxes(
        &self,
        scope: &Scope,
        after: Option<&InboxId>,
        limit: u32,
    ) -> Result<Vec<InboxView>, StoreError> {
        let after = after.map_or("", InboxId::as_str).to_owned();
        let work = list(self.pool.clone(), scope.clone(), after, limit);
        self.work.run(SHORT, work).await
    }

    async fn expire_inbox(
        &self,
        inbox: &InboxId,
        scope: &Scope,
    ) -> Result<Option<InboxView>, StoreError> {
        let work = expire(self.pool.clone(), inbox.clone(), scope.clone());
        self.work.run(SHORT, work).await
    }

    async fn rotate_inbox(
        &self,
        inbox: &InboxId,
        to: &InboxId,
        scope: &Scope,
        asked: Option<&Request>,
    ) -> Result<Created<InboxView>, StoreError> {
        let (from, to) = (inbox.clone(), to.clone());
        let work = rotate(self.pool.clone(), from, to, scope.clone(), asked.cloned());
        self.work.run(SHORT, work).await
    }
}

async fn create(pool: Pool, inbox: NewInbox) -> Result<Created<InboxView>, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    match requests::note(&mut transaction, inbox.asked.as_ref(), inbox.inbox.as_str()).await? {
        Noted::New => {}
        Noted::Before(made) => return known(&mut transaction, &made).await,
        Noted::Reused => return Ok(Created::KeyReused),
    }
    let row = sqlx::query(
        "INSERT INTO inboxes
             (inbox, owner, senders, links, lifetime_ms, retention_ms, metadata,
              needs_proof, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9 * interval '1 millisecond')
         ON CONFLICT (inbox) DO NOTHING
         RETURNING *, false AS is_expired",
    )
    .bind(inbox.inbox.as_str())
    .bind(inbox.owner.as_str())
    .bind(joined(&inbox.rules.senders))
    .bind(inbox.rules.links.as_deref().map(joined))
    .bind(inbox.rules.lifetime.map(millis))
    .bind(inbox.retention.map(millis))
    .bind(inbox.metadata)
    .bind(inbox.rules.needs_proof)
    .bind(inbox.expires_in.map(millis))
    .fetch_optional(&mut *transaction)
    .await?;
    let Some(row) = row else {
        transaction.rollback().await?;
        return Ok(Created::Refused);
    };
    transaction.commit().await?;
    Ok(Created::New(from_columns(&row)?.try_into()?))
}

/// The inbox that the same request has made.
async fn known(connection: &mut PgConnection, made: &str) -> Result<Created<InboxView>, Fault> {
    let row = find(connection, made).await?.ok_or(Fault::Restless)?;
    Ok(Created::Known(row.try_into()?))
}

/// The row of an inbox.
pub(super) async fn find(
    connection: &mut PgConnection,
    inbox: &str,
) -> Result<Option<InboxRow>, Fault> {
    let row = sqlx::query(
        "SELECT *, coalesce(expires_at <= now(), false) AS is_expired
         FROM inboxes WHERE inbox = $1",
    )
    .bind(inbox)
    .fetch_optional(connection)
    .await?;
    row.map(|row| from_columns(&row)).transpose()
}

async fn look_up(pool: Pool, inbox: InboxId, scope: Scope) -> Result<Option<InboxView>, Fault> {
    let row = find(&mut *pool.lend().await?, inbox.as_str()).await?;
    row.filter(|row| scope.covers(&inbox, row.owner.as_deref()))
        .map(TryInto::try_into)
        .transpose()
}

async fn list(
    pool: Pool,
    scope: Scope,
    after: String,
    limit: u32,
) -> Result<Vec<InboxView>, Fault> {
    let (is_all, owner, others) = match &scope {
        Scope::All => (true, "", Vec::new()),
        Scope::Own { owner, others } => {
            let others = others.iter().map(InboxId::as_str).collect();
            (false, owner.as_str(), others)
        }
    };
    let rows = sqlx::query(
        "SELECT *, coalesce(expires_at <= now(), false) AS is_expired
         FROM inboxes
         WHERE inbox > $1 AND ($2 OR owner = $3 OR inbox = ANY($4))
         ORDER BY inbox
         LIMIT $5",
    )
    .bind(after)
    .bind(is_all)
    .bind(owner)
    .bind(others)
    .bind(i64::from(limit))
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    rows.iter()
        .map(|row| from_columns(row)?.try_into())
        .collect()
}

async fn expire(pool: Pool, inbox: InboxId, scope: Scope) -> Result<Option<InboxView>, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    let expired = end(&mut transaction, &inbox, &scope).await?;
    transaction.commit().await?;
    expired.map(TryInto::try_into).transpose()
}

async fn rotate(
    pool: Pool,
    inbox: InboxId,
    to: InboxId,
    scope: Scope,
    asked: Option<Request>,
) -> Result<Created<InboxView>, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    match requests::note(&mut transaction, asked.as_ref(), to.as_str()).await? {
        Noted::New => {}
        Noted::Before(made) => return known(&mut transaction, &made).await,
        Noted::Reused => return Ok(Created::KeyReused),
    }
    // Of two at once one rotates, and the other finds it ended.
    sqlx::query("SELECT FROM inboxes WHERE inbox = $1 FOR UPDATE")
        .bind(inbox.as_str())
        .execute(&mut *transaction)
        .await?;
    let before = find(&mut transaction, inbox.as_str()).await?;
    let before = before.filter(|before| !before.is_expired);
    let Some(before) = before.filter(|before| scope.owns(before.owner.as_deref())) else {
        transaction.rollback().await?;
        return Ok(Created::Refused);
    };
    end(&mut transaction, &inbox, &scope).await?;
    let row = sqlx::query(
        "INSERT INTO inboxes
             (inbox, owner, senders, links, lifetime_ms, retention_ms, metadata,
              needs_proof, expires_at)
         SELECT $2, owner, senders, links, lifetime_ms, retention_ms, metadata, needs_proof, $3
         FROM inboxes WHERE inbox = $1
         ON CONFLICT (inbox) DO NOTHING
         RETURNING *, false AS is_expired",
    )
    .bind(inbox.as_str())
    .bind(to.as_str())
    // It ends when the one before would have ended.
    .bind(before.expires_at.and_then(moment))
    .fetch_optional(&mut *transaction)
    .await?;
    let Some(row) = row else {
        transaction.rollback().await?;
        return Ok(Created::Refused);
    };
    transaction.commit().await?;
    Ok(Created::New(from_columns(&row)?.try_into()?))
}

/// Ends an inbox that the caller owns; one that has ended stays as it is.
async fn end(
    connection: &mut PgConnection,
    inbox: &InboxId,
    scope: &Scope,
) -> Result<Option<InboxRow>, Fault> {
    let row = find(&mut *connection, inbox.as_str()).await?;
    if !row.is_some_and(|row| scope.owns(row.owner.as_deref())) {
        return Ok(None);
    }
    let row = sqlx::query(
        "UPDATE inboxes SET expires_at = least(expires_at, now()) WHERE inbox = $1
         RETURNING *, true AS is_expired, pg_notify($2, inbox)",
    )
    .bind(inbox.as_str())
    .bind(CHANNEL)
    .fetch_optional(connection)
    .await?;
    row.map(|row| from_columns(&row)).transpose()
}

fn from_columns(row: &PgRow) -> Result<InboxRow, Fault> {
    let expires_at: Option<OffsetDateTime> = row.try_get("expires_at")?;
    Ok(InboxRow {
        inbox: row.try_get("inbox")?,
        owner: row.try_get("owner")?,
        senders: row.try_get("senders")?,
        needs_proof: row.try_get("needs_proof")?,
        links: row.try_get("links")?,
        lifetime_ms: row.try_get("lifetime_ms")?,
        retention_ms: row.try_get("retention_ms")?,
        metadata: row.try_get("metadata")?,
        created_at: timestamp(row.try_get("created_at")?),
        expires_at: expires_at.map(timestamp),
        is_expired: row.try_get("is_expired")?,
    })
}
