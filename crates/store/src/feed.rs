//! The feed of an inbox: its items, their use, and the wait for the next one.

use async_trait::async_trait;
use pipeline::{
    AgentLog, ArtifactId, ArtifactKind, ArtifactView, AttemptId, ConsumeRequest, Consumed,
    FeedBounds, InboxId, InboxWatch, MessageId, Reason, SenderProof, Seq, StoreError,
};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::Moment;
use crate::consumes;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::stored::{inbox, split, verdict};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> AgentLog for Database<B> {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        let (inbox, after) = (inbox.as_str().to_owned(), after.number());
        self.run(SHORT, |session| async move {
            let items = list(session, inbox, after, limit).await?;
            items.into_iter().map(TryInto::try_into).collect()
        })
        .await
    }

    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError> {
        let request = request.clone();
        self.run(SHORT, |session| consumes::consume(session, request))
            .await
    }

    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError> {
        let inbox = inbox.as_str().to_owned();
        self.run(SHORT, |session| feed_bounds(session, inbox)).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        let watch = self.session.watches.watch(inbox);
        self.session.backend.watch();
        watch
    }
}

/// The columns of an [`Item`]. No statement selects `*`.
macro_rules! item_columns {
    () => {
        "id, inbox, seq, kind, verdict, reason, rule, confidence, host, message_id, sender, \
         sender_domain, sender_proof, flags, received_at, expires_at, is_expired, consumed_at, \
         attempt_id, is_superseded"
    };
}

/// Items of an inbox after a position, in order.
async fn list<B: Backend>(
    session: Session<B>,
    inbox: String,
    after: i64,
    limit: u32,
) -> Result<Vec<Item>, Fault> {
    query::<B>(Sql::both(concat!(
        "SELECT ",
        item_columns!(),
        " FROM items WHERE inbox = $1 AND seq > $2 ORDER BY seq LIMIT $3",
    )))
    .bind(inbox)
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(&mut *session.reader().await?)
    .await
}

/// The newest items of an inbox, the last one first.
pub(crate) async fn newest<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &str,
    limit: i64,
) -> Result<Vec<Item>, Fault> {
    query::<B>(Sql::both(concat!(
        "SELECT ",
        item_columns!(),
        " FROM items WHERE inbox = $1 ORDER BY seq DESC LIMIT $2",
    )))
    .bind(inbox)
    .bind(limit)
    .fetch_all(connection)
    .await
}

/// The first and last position of an inbox's feed; zero if no mail ever arrived.
async fn feed_bounds<B: Backend>(session: Session<B>, inbox: String) -> Result<FeedBounds, Fault> {
    let row: Option<(i64, i64)> = query::<B>(Sql::both(
        "SELECT purged_seq, last_seq FROM inboxes WHERE inbox = $1",
    ))
    .bind(inbox)
    .fetch_optional(&mut *session.reader().await?)
    .await?;
    let (purged, last) = row.unwrap_or_default();
    Ok(FeedBounds {
        purged: Seq::new(purged),
        last: Seq::new(last),
    })
}

/// One item.
pub(crate) async fn item<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
) -> Result<Option<Item>, Fault> {
    query::<B>(Sql::both(concat!(
        "SELECT ",
        item_columns!(),
        " FROM items WHERE id = $1"
    )))
    .bind(id)
    .fetch_optional(connection)
    .await
}

row! {
    /// An artifact, the message it came in and its consume: a row of the view `items`.
    pub(crate) struct Item {
        id: Uuid,
        pub(crate) inbox: String,
        seq: i64,
        kind: String,
        verdict: String,
        reason: Option<String>,
        rule: String,
        confidence: i16,
        host: Option<String>,
        message_id: Uuid,
        sender: Option<String>,
        sender_domain: Option<String>,
        sender_proof: String,
        flags: String,
        received_at: Moment,
        expires_at: Moment,
        is_expired: bool,
        consumed_at: Option<Moment>,
        attempt_id: Option<Uuid>,
        is_superseded: bool,
    }
}

impl TryFrom<Item> for ArtifactView {
    type Error = Fault;

    fn try_from(item: Item) -> Result<Self, Fault> {
        Ok(Self {
            id: ArtifactId::from_uuid(item.id),
            inbox: inbox(&item.inbox)?,
            seq: Seq::new(item.seq),
            kind: ArtifactKind::from_word(&item.kind).ok_or(Fault::Damaged("kind"))?,
            verdict: verdict(&item.verdict, item.reason.as_deref())?,
            rule: Reason::from_stored(&item.rule),
            confidence: u8::try_from(item.confidence).or(Err(Fault::Damaged("confidence")))?,
            host: item.host,
            message: MessageId::from_uuid(item.message_id),
            sender: item.sender,
            sender_domain: item.sender_domain,
            sender_proof: SenderProof::from_stored(&item.sender_proof),
            flags: split(&item.flags),
            received_at: item.received_at.into(),
            expires_at: item.expires_at.into(),
            is_expired: item.is_expired,
            consumed_at: item.consumed_at.map(Into::into),
            attempt: item.attempt_id.map(AttemptId::from_uuid),
            is_superseded: item.is_superseded,
        })
    }
}
