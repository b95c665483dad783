//! The second layer of deduplication: messages, by their keys.

use std::collections::HashMap;
use std::time::Duration;

use pipeline::{DeliveryId, Finished, NewMessage};
use serde_json::json;
use uuid::Uuid;

use crate::artifacts::Arrived;
use crate::backend::{Backend, Connection, Sql, query};
use crate::column::{Moment, Rows, hex};
use crate::fault::Fault;
use crate::seal::SealedMessage;
use crate::stored::{joined, span};

/// How and when a delivery came.
pub(crate) struct Origin {
    pub(crate) delivery: DeliveryId,
    pub(crate) recorded_at: Moment,
    pub(crate) is_polled: bool,
    /// When its mail arrived: for a polled one as its source says, otherwise when it
    /// was recorded.
    pub(crate) arrived_at: Moment,
}

/// A message of a delivery whose claim holds.
pub(crate) struct Received<'c> {
    pub(crate) sealed: &'c SealedMessage,
    pub(crate) origin: &'c Origin,
    /// The index of its delivery among those that are completed together.
    pub(crate) index: usize,
}

impl<'c> Received<'c> {
    pub(crate) fn inbox(&self) -> &'c str {
        self.sealed.message.inbox.as_str()
    }

    fn path(&self) -> &'static str {
        if self.origin.is_polled {
            "poll"
        } else {
            "push"
        }
    }
}

/// Inserts the messages whose keys are not known, and returns those. Of the others it is
/// noted that they came again.
pub(crate) async fn insert<'c, B: Backend>(
    connection: &mut Connection<B>,
    received: &[Received<'c>],
    finished: &mut [Finished],
) -> Result<Vec<Arrived<'c>>, Fault> {
    let inserted = insert_rows::<B>(connection, received).await?;
    let mut new = Vec::with_capacity(received.len());
    for message in received {
        let Some(finished) = finished.get_mut(message.index) else {
            continue;
        };
        let id = message.sealed.message.id.as_uuid();
        if let Some(received_at) = inserted.get(&id) {
            finished.messages += 1;
            finished.recovered += u32::from(message.origin.is_polled);
            new.push(Arrived {
                sealed: message.sealed,
                received_at: *received_at,
                index: message.index,
            });
        } else {
            finished.duplicate_messages += 1;
            let lag = note_other_path::<B>(connection, message).await?;
            finished.other_path_lag = finished.other_path_lag.max(lag);
        }
    }
    Ok(new)
}

/// Inserts messages unless one of their keys is known. Returns the ids of those that are
/// new, and when each was received: when the provider says, but never later than it was
/// recorded here.
async fn insert_rows<B: Backend>(
    connection: &mut Connection<B>,
    received: &[Received<'_>],
) -> Result<HashMap<Uuid, Moment>, Fault> {
    let mut rows = Rows::default();
    for it in received {
        let message = &it.sealed.message;
        rows.push(json!({
            "id": message.id.as_uuid().simple().to_string(),
            "delivery": it.origin.delivery.as_uuid().simple().to_string(),
            "inbox": message.inbox.as_str(),
            "key": hex(message.key.as_bytes()),
            "sender": message.sender.address,
            "domain": message.sender.domain,
            "proof": message.sender.proof.as_str(),
            "flags": joined(&message.flags),
            "received": message.received_at.map(|at| Moment::from(at).as_micros()),
            "arrived": it.origin.arrived_at.as_micros(),
            "path": it.path(),
            "provider": provider_key(message).map(hex),
        }));
    }
    let rows: Vec<(Uuid, Moment)> = query::<B>(Sql {
        postgres: "INSERT INTO messages
                 (id, delivery_id, inbox, message_key, sender, sender_domain, sender_proof, flags,
                  received_at, path, provider_key)
             SELECT id, delivery, inbox, decode(key, 'hex'), sender, domain, proof, flags,
                    'epoch'::timestamptz + least(received, arrived) * interval '1 microsecond',
                    path, decode(provider, 'hex')
             FROM jsonb_to_recordset($1::text::jsonb) AS new
                 (id uuid, delivery uuid, inbox text, key text, sender text, domain text,
                  proof text, flags text, received bigint, arrived bigint, path text,
                  provider text)
             ON CONFLICT DO NOTHING
             RETURNING id, received_at",
        sqlite: "INSERT INTO messages
                 (id, delivery_id, inbox, message_key, sender, sender_domain, sender_proof, flags,
                  received_at, path, provider_key)
             SELECT unhex(value ->> 'id'), unhex(value ->> 'delivery'), value ->> 'inbox',
                    unhex(value ->> 'key'), value ->> 'sender', value ->> 'domain',
                    value ->> 'proof', value ->> 'flags',
                    min(coalesce(value ->> 'received', value ->> 'arrived'),
                        value ->> 'arrived') / 1000,
                    value ->> 'path', unhex(value ->> 'provider')
             FROM json_each($1) WHERE true
             ON CONFLICT DO NOTHING
             RETURNING id, received_at",
    })
    .bind(rows.into_text())
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Notes that the other path has brought a known message, too, and returns how much
/// later; nothing if it is the same path or was noted before.
async fn note_other_path<B: Backend>(
    connection: &mut Connection<B>,
    received: &Received<'_>,
) -> Result<Option<Duration>, Fault> {
    let message = &received.sealed.message;
    let lag: Option<i64> = query::<B>(Sql {
        postgres: "UPDATE messages SET other_path_at = $3
             WHERE (message_key = $1 OR provider_key = $4) AND path <> $2
               AND other_path_at IS NULL
             RETURNING (extract(epoch FROM $3 - (SELECT recorded_at FROM deliveries
                                                 WHERE id = messages.delivery_id)) * 1000)::bigint",
        sqlite: "UPDATE messages SET other_path_at = $3
             WHERE (message_key = $1 OR provider_key = $4) AND path <> $2
               AND other_path_at IS NULL
             RETURNING $3 - (SELECT recorded_at FROM deliveries WHERE id = messages.delivery_id)",
    })
    .bind(message.key.as_bytes().as_slice())
    .bind(received.path())
    .bind(received.origin.recorded_at)
    .bind(provider_key(message))
    .scalar(connection)
    .await?;
    Ok(lag.map(span))
}

fn provider_key(message: &NewMessage) -> Option<&[u8]> {
    let key = message.provider_key.as_ref()?;
    Some(key.as_bytes().as_slice())
}
