//! Who consumed what. A consume outlives its artifact, so an artifact may be gone.

use async_trait::async_trait;
use pipeline::{ArtifactId, ArtifactKind, AttemptId, AuditLog, ConsumeRecord, StoreError};
use uuid::Uuid;

use crate::backend::{Backend, Sql, query, row};
use crate::column::Moment;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::stored::inbox;
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> AuditLog for Database<B> {
    async fn consumes(
        &self,
        before: Option<ArtifactId>,
        limit: u32,
    ) -> Result<Vec<ConsumeRecord>, StoreError> {
        self.run(SHORT, move |session| consumes(session, before, limit))
            .await
    }

    async fn consume_of(&self, artifact: ArtifactId) -> Result<Option<ConsumeRecord>, StoreError> {
        self.run(SHORT, move |session| consume_of(session, artifact))
            .await
    }
}

row! {
    struct ConsumeRow {
        artifact_id: Uuid,
        consumer: String,
        consumed_at: Moment,
        way: Option<String>,
        inbox: Option<String>,
        kind: Option<String>,
        attempt_id: Option<Uuid>,
    }
}

impl TryFrom<ConsumeRow> for ConsumeRecord {
    type Error = Fault;

    fn try_from(row: ConsumeRow) -> Result<Self, Fault> {
        let kind = |word: &str| ArtifactKind::from_word(word).ok_or(Fault::Damaged("kind"));
        Ok(Self {
            artifact: ArtifactId::from_uuid(row.artifact_id),
            consumer: row.consumer,
            at: row.consumed_at.into(),
            way: row.way,
            inbox: row.inbox.as_deref().map(inbox).transpose()?,
            kind: row.kind.as_deref().map(kind).transpose()?,
            attempt: row.attempt_id.map(AttemptId::from_uuid),
        })
    }
}

/// The columns of a [`ConsumeRow`], and where they come from.
macro_rules! select_consumes {
    () => {
        "SELECT c.artifact_id, c.consumer, c.consumed_at, c.way, a.inbox, a.kind, a.attempt_id
         FROM consumes c LEFT JOIN artifacts a ON a.id = c.artifact_id "
    };
}

async fn consumes<B: Backend>(
    session: Session<B>,
    before: Option<ArtifactId>,
    limit: u32,
) -> Result<Vec<ConsumeRecord>, Fault> {
    let rows: Vec<ConsumeRow> = match before {
        None => {
            query::<B>(Sql::both(concat!(
                select_consumes!(),
                "ORDER BY c.consumed_at DESC, c.artifact_id DESC LIMIT $1"
            )))
            .bind(i64::from(limit))
            .fetch_all(&mut *session.reader().await?)
            .await?
        }
        Some(before) => {
            query::<B>(Sql::both(concat!(
                select_consumes!(),
                "WHERE (c.consumed_at, c.artifact_id) <
                       (SELECT consumed_at, artifact_id FROM consumes WHERE artifact_id = $2)
                 ORDER BY c.consumed_at DESC, c.artifact_id DESC LIMIT $1"
            )))
            .bind(i64::from(limit))
            .bind(before.as_uuid())
            .fetch_all(&mut *session.reader().await?)
            .await?
        }
    };
    rows.into_iter().map(TryInto::try_into).collect()
}

async fn consume_of<B: Backend>(
    session: Session<B>,
    artifact: ArtifactId,
) -> Result<Option<ConsumeRecord>, Fault> {
    let row: Option<ConsumeRow> = query::<B>(Sql::both(concat!(
        select_consumes!(),
        "WHERE c.artifact_id = $1"
    )))
    .bind(artifact.as_uuid())
    .fetch_optional(&mut *session.reader().await?)
    .await?;
    row.map(TryInto::try_into).transpose()
}
