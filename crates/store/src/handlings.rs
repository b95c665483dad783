//! What rules did with a message, and what a reply to it needs.

use pipeline::ReplyRefusal;
use serde_json::json;

use crate::artifacts::Arrived;
use crate::backend::{Backend, Connection, Sql, query};
use crate::column::{Rows, hex};
use crate::fault::Fault;
use crate::stored::joined;

/// Inserts a row for each new message that has something to say. Messages without rules
/// and without a reply cost nothing here.
pub(crate) async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    new: &[Arrived<'_>],
) -> Result<(), Fault> {
    let mut rows = Rows::default();
    for arrived in new {
        let message = &arrived.sealed.message;
        let handling = &message.handling;
        if handling.is_empty() {
            continue;
        }
        let context = arrived.sealed.context.as_ref();
        let thread = handling.thread.as_ref();
        rows.push(json!({
            "message": message.id.as_uuid().simple().to_string(),
            "inbox": message.inbox.as_str(),
            "rules": joined(&handling.rules),
            "no_reply": handling.no_reply.map(ReplyRefusal::as_str),
            "thread": thread.map(|(thread, _)| thread.as_uuid().simple().to_string()),
            "person": thread.map(|(_, person)| hex(person)),
            "content": context.map(|sealed| hex(&sealed.bytes)),
            "content_key": context.map(|sealed| sealed.key.as_str()),
        }));
    }
    if rows.is_empty() {
        return Ok(());
    }
    query::<B>(Sql {
        postgres: "INSERT INTO handlings
                 (message_id, inbox, rules, no_reply, thread, person, content, content_key)
             SELECT message, inbox, rules, no_reply, thread, decode(person, 'hex'),
                    decode(content, 'hex'), content_key
             FROM jsonb_to_recordset($1::text::jsonb) AS new
                 (message uuid, inbox text, rules text, no_reply text, thread uuid, person text,
                  content text, content_key text)",
        sqlite: "INSERT INTO handlings
                 (message_id, inbox, rules, no_reply, thread, person, content, content_key)
             SELECT unhex(value ->> 'message'), value ->> 'inbox', value ->> 'rules',
                    value ->> 'no_reply', unhex(value ->> 'thread'), unhex(value ->> 'person'),
                    unhex(value ->> 'content'), value ->> 'content_key'
             FROM json_each($1)",
    })
    .bind(rows.into_text())
    .execute(connection)
    .await?;
    note_ours::<B>(connection, new).await
}

/// Notes mail that was written in our name: agents do not answer what it has answered.
async fn note_ours<B: Backend>(
    connection: &mut Connection<B>,
    new: &[Arrived<'_>],
) -> Result<(), Fault> {
    for arrived in new {
        let message = &arrived.sealed.message;
        let Some((thread, person)) = message.handling.thread else {
            continue;
        };
        if !message.handling.is_ours {
            continue;
        }
        query::<B>(Sql {
            postgres: "INSERT INTO threads (id, inbox, person, last_ours, created_at)
                       VALUES ($1, $2, $3, $4, clock_timestamp())
                       ON CONFLICT (id) DO UPDATE
                       SET last_ours = greatest(threads.last_ours, excluded.last_ours)",
            sqlite: "INSERT INTO threads (id, inbox, person, last_ours, created_at)
                     SELECT $1, $2, $3, $4, now FROM clock WHERE true
                     ON CONFLICT (id) DO UPDATE
                     SET last_ours = max(coalesce(last_ours, 0), excluded.last_ours)",
        })
        .bind(thread.as_uuid())
        .bind(message.inbox.as_str())
        .bind(&person[..])
        .bind(arrived.received_at)
        .execute(connection)
        .await?;
    }
    Ok(())
}
