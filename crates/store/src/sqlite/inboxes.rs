//! Inboxes: whose they are and what was chosen for them.

use async_trait::async_trait;
use pipeline::{
    Created, InboxId, InboxLog, InboxView, NewInbox, Request, Scope, StoreError, Timestamp,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::{Sqlite, requests};
use crate::fault::Fault;
use crate::requests::Noted;
use crate::stored::{joined, millis};
use crate::uncancelled::SHORT;
use crate::waiting::InboxRow;

#[async_trait]
impl InboxLog for Sqlite {
    async fn create_inbox(&self, inbox: NewInbox) -> Result<Created<InboxView>, StoreError> {
        let work = create(self.writer.clone(), inbox);
        self.work.run(SHORT, work).await
    }

    async fn inbox(&self, inbox: &InboxId, scope: &Scope) -> Result<Option<InboxView>, StoreError> {
        let work = look_up(self.readers.clone(), inbox.clone(), scope.clone());
        self.work.run(SHORT, work).await
    }

    async fn inboxes(
        &self,
        scope: &Scope,
        after: Option<&InboxId>,
        limit: u32,
    ) -> Result<Vec<InboxView>, StoreError> {
        let after = after.map_or("", InboxId::as_str).to_owned();
        let work = list(self.readers.clone(), scope.clone(), after, limit);
        self.work.run(SHORT, work).await
    }

    async fn expire_inbox(
        &self,
        inbox: &InboxId,
        scope: &Scope,
    ) -> Result<Option<InboxView>, StoreError> {
        let expire = expire(self.writer.clone(), inbox.clone(), scope.clone());
        self.work.run(SHORT, self.told(inbox, expire)).await
    }

    async fn rotate_inbox(
        &self,
        inbox: &InboxId,
        to: &InboxId,
        scope: &Scope,
        asked: Option<&Request>,
    ) -> Result<Created<InboxView>, StoreError> {
        let (from, to) = (inbox.clone(), to.clone());
        let rotate = rotate(self.writer.clone(), from, to, scope.clone(), asked.cloned());
        self.work.run(SHORT, self.told(inbox, rotate)).await
    }
}

impl Sqlite {
    /// Ends an inbox, and then tells whoever waits there.
    fn told<T, F>(
        &self,
        inbox: &InboxId,
        end: F,
    ) -> impl Future<Output = Result<T, Fault>> + use<T, F>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let (arrivals, inbox) = (self.arrivals.clone(), inbox.clone());
        async move {
            let ended = end.await?;
            arrivals.announce(inbox.as_str());
            Ok(ended)
        }
    }
}

async fn create(writer: SqlitePool, inbox: NewInbox) -> Result<Created<InboxView>, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    match requests::note(&mut transaction, inbox.asked.as_ref(), inbox.inbox.as_str()).await? {
        Noted::New => {}
        Noted::Before(made) => return known(&mut transaction, &made).await,
        Noted::Reused => return Ok(Created::KeyReused),
    }
    let row = sqlx::query(
        "INSERT INTO inboxes
             (inbox, owner, senders, links, lifetime_ms, retention_ms, metadata,
              needs_proof, expires_at, created_at)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, now + $9, now FROM clock WHERE true
         ON CONFLICT (inbox) DO NOTHING
         RETURNING *, 0 AS is_expired",
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
async fn known(connection: &mut SqliteConnection, made: &str) -> Result<Created<InboxView>, Fault> {
    let row = find(connection, made).await?.ok_or(Fault::Restless)?;
    Ok(Created::Known(row.try_into()?))
}

/// The row of an inbox.
pub(super) async fn find(
    connection: &mut SqliteConnection,
    inbox: &str,
) -> Result<Option<InboxRow>, Fault> {
    let row = sqlx::query(
        "SELECT *, coalesce(expires_at <= (SELECT now FROM clock), 0) AS is_expired
         FROM inboxes WHERE inbox = $1",
    )
    .bind(inbox)
    .fetch_optional(connection)
    .await?;
    row.map(|row| from_columns(&row)).transpose()
}

async fn look_up(
    readers: SqlitePool,
    inbox: InboxId,
    scope: Scope,
) -> Result<Option<InboxView>, Fault> {
    let row = find(&mut *readers.acquire().await?, inbox.as_str()).await?;
    row.filter(|row| scope.covers(&inbox, row.owner.as_deref()))
        .map(TryInto::try_into)
        .transpose()
}

async fn list(
    readers: SqlitePool,
    scope: Scope,
    after: String,
    limit: u32,
) -> Result<Vec<InboxView>, Fault> {
    let (is_all, owner, others) = match &scope {
        Scope::All => (true, "", Vec::new()),
        Scope::Own { owner, others } => {
            let others: Vec<&str> = others.iter().map(InboxId::as_str).collect();
            (false, owner.as_str(), others)
        }
    };
    let rows = sqlx::query(
        "SELECT *, coalesce(expires_at <= (SELECT now FROM clock), 0) AS is_expired
         FROM inboxes
         WHERE inbox > $1 AND ($2 OR owner = $3 OR inbox IN (SELECT value FROM json_each($4)))
         ORDER BY inbox
         LIMIT $5",
    )
    .bind(after)
    .bind(is_all)
    .bind(owner)
    // SQLite has no arrays. Addresses hold nothing that JSON would have to escape.
    .bind(format!("{others:?}"))
    .bind(i64::from(limit))
    .fetch_all(&readers)
    .await?;
    rows.iter()
        .map(|row| from_columns(row)?.try_into())
        .collect()
}

async fn expire(
    writer: SqlitePool,
    inbox: InboxId,
    scope: Scope,
) -> Result<Option<InboxView>, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let expired = end(&mut transaction, &inbox, &scope).await?;
    transaction.commit().await?;
    expired.map(TryInto::try_into).transpose()
}

async fn rotate(
    writer: SqlitePool,
    inbox: InboxId,
    to: InboxId,
    scope: Scope,
    asked: Option<Request>,
) -> Result<Created<InboxView>, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    match requests::note(&mut transaction, asked.as_ref(), to.as_str()).await? {
        Noted::New => {}
        Noted::Before(made) => return known(&mut transaction, &made).await,
        Noted::Reused => return Ok(Created::KeyReused),
    }
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
              needs_proof, expires_at, created_at)
         SELECT $2, owner, senders, links, lifetime_ms, retention_ms, metadata, needs_proof, $3, now
         FROM inboxes, clock WHERE inbox = $1
         ON CONFLICT (inbox) DO NOTHING
         RETURNING *, 0 AS is_expired",
    )
    .bind(inbox.as_str())
    .bind(to.as_str())
    // It ends when the one before would have ended.
    .bind(before.expires_at.map(Timestamp::as_millis))
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
    connection: &mut SqliteConnection,
    inbox: &InboxId,
    scope: &Scope,
) -> Result<Option<InboxRow>, Fault> {
    let row = find(&mut *connection, inbox.as_str()).await?;
    if !row.is_some_and(|row| scope.owns(row.owner.as_deref())) {
        return Ok(None);
    }
    let row = sqlx::query(
        "UPDATE inboxes SET expires_at = min(coalesce(expires_at, now), now) FROM clock WHERE inbox = $1
         RETURNING *, 1 AS is_expired",
    )
    .bind(inbox.as_str())
    .fetch_optional(connection)
    .await?;
    row.map(|row| from_columns(&row)).transpose()
}

fn from_columns(row: &SqliteRow) -> Result<InboxRow, Fault> {
    let expires_at: Option<i64> = row.try_get("expires_at")?;
    Ok(InboxRow {
        inbox: row.try_get("inbox")?,
        owner: row.try_get("owner")?,
        senders: row.try_get("senders")?,
        needs_proof: row.try_get("needs_proof")?,
        links: row.try_get("links")?,
        lifetime_ms: row.try_get("lifetime_ms")?,
        retention_ms: row.try_get("retention_ms")?,
        metadata: row.try_get("metadata")?,
        created_at: Timestamp::from_millis(row.try_get("created_at")?),
        expires_at: expires_at.map(Timestamp::from_millis),
        is_expired: row.try_get("is_expired")?,
    })
}
