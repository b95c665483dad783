//! Messages as they are answered, and as agents see them.

use pipeline::{
    InboxId, MessageId, MessageView, ReplyContext, ReplyRefusal, ReplyTarget, Scope, SendView,
    SenderProof, ThreadId, ThreadState,
};
use uuid::Uuid;

use super::row::{SendRow, find_reply};
use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::Moment;
use crate::database::Session;
use crate::fault::Fault;
use crate::seal::Row;
use crate::stored::{inbox, split};

row! {
    struct HandledRow {
        inbox: String,
        owner: Option<String>,
        sender_domain: Option<String>,
        sender_proof: String,
        flags: String,
        received_at: Moment,
        rules: Option<String>,
        no_reply: Option<String>,
        thread: Option<Uuid>,
        person: Option<Vec<u8>>,
        thread_state: Option<String>,
        content: Option<Vec<u8>>,
        content_key: Option<String>,
    }
}

impl HandledRow {
    fn inbox(&self) -> Result<InboxId, Fault> {
        inbox(&self.inbox)
    }

    fn no_reply(&self) -> Result<Option<ReplyRefusal>, Fault> {
        let Some(word) = &self.no_reply else {
            return Ok(None);
        };
        let refusal = ReplyRefusal::from_word(word);
        refusal.ok_or(Fault::Damaged("no_reply")).map(Some)
    }

    fn thread(&self) -> Result<Option<(ThreadId, [u8; 16])>, Fault> {
        let (Some(thread), Some(person)) = (self.thread, &self.person) else {
            return Ok(None);
        };
        let person = person.as_slice().try_into();
        let person = person.or(Err(Fault::Damaged("person")))?;
        Ok(Some((ThreadId::from_uuid(thread), person)))
    }
}

/// The message, if its inbox is in the scope.
async fn read<B: Backend>(
    connection: &mut Connection<B>,
    message: MessageId,
    scope: &Scope,
) -> Result<Option<HandledRow>, Fault> {
    let row: Option<HandledRow> = query::<B>(Sql::both(
        "SELECT m.inbox, i.owner, m.sender_domain, m.sender_proof, m.flags, m.received_at,
                h.rules, h.no_reply, h.thread, h.person, t.state AS thread_state,
                h.content, h.content_key
         FROM messages m
         JOIN inboxes i ON i.inbox = m.inbox
         LEFT JOIN handlings h ON h.message_id = m.id
         LEFT JOIN threads t ON t.id = h.thread
         WHERE m.id = $1",
    ))
    .bind(message.as_uuid())
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let is_covered = scope.covers(&row.inbox()?, row.owner.as_deref());
    Ok(is_covered.then_some(row))
}

pub(super) async fn find<B: Backend>(
    session: Session<B>,
    message: MessageId,
    scope: Scope,
) -> Result<Option<ReplyTarget>, Fault> {
    let mut connection = session.reader().await?;
    let Some(row) = read::<B>(&mut connection, message, &scope).await? else {
        return Ok(None);
    };
    let context = match (&row.content, &row.content_key) {
        (Some(sealed), Some(key)) => {
            let place = Row::handling(message, &row.inbox);
            let plain = session.secrets.keyring.open(place, key, sealed)?;
            let context: Result<ReplyContext, _> = serde_json::from_slice(&plain);
            Some(context.or(Err(Fault::Damaged("content")))?)
        }
        _ => None,
    };
    Ok(Some(ReplyTarget {
        message,
        inbox: row.inbox()?,
        proof: SenderProof::from_stored(&row.sender_proof),
        no_reply: row.no_reply()?,
        thread: row.thread()?,
        context,
        reply: reply_of::<B>(&mut connection, message).await?,
    }))
}

async fn reply_of<B: Backend>(
    connection: &mut Connection<B>,
    message: MessageId,
) -> Result<Option<SendView>, Fault> {
    let row = find_reply::<B>(connection, message.as_uuid()).await?;
    row.map(SendRow::view).transpose()
}

/// The message without anything that its sender wrote.
pub(super) async fn view<B: Backend>(
    session: Session<B>,
    message: MessageId,
    scope: Scope,
) -> Result<Option<MessageView>, Fault> {
    let mut connection = session.reader().await?;
    let Some(row) = read::<B>(&mut connection, message, &scope).await? else {
        return Ok(None);
    };
    let reply = reply_of::<B>(&mut connection, message).await?;
    let state = row.thread_state.as_deref().map(ThreadState::from_word);
    // A thread without a row has no reply yet.
    let state = state.unwrap_or(Some(ThreadState::Open));
    let state = state.ok_or(Fault::Damaged("state"))?;
    Ok(Some(MessageView {
        id: message,
        inbox: row.inbox()?,
        sender_proof: SenderProof::from_stored(&row.sender_proof),
        received_at: row.received_at.into(),
        no_reply: row.no_reply()?,
        thread: row.thread()?.map(|(thread, _)| (thread, state)),
        rules: row.rules.as_deref().map(split).unwrap_or_default(),
        flags: split(&row.flags),
        sender_domain: row.sender_domain,
        reply,
    }))
}
