//! Claiming sends with their content: those that may be dispatched, and those that are to be
//! settled.

use std::time::Duration;

use pipeline::{ClaimToken, ClaimedSend, ProviderKey, SendClaim, SendId};
use uuid::Uuid;

use super::content;
use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::List;
use crate::database::Session;
use crate::fault::Fault;
use crate::seal::Keyring;
use crate::stored::{attempts, millis, span};

/// Which sends are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claimable {
    /// Those that may be dispatched.
    Ready,
    /// Those that are to be settled. They stay `uncertain`, and are due again when the
    /// lease is over.
    Uncertain,
}

row! {
    struct ClaimedRow {
        id: Uuid,
        sender: String,
        provider: Option<String>,
        provider_key: Vec<u8>,
        message_id: Option<String>,
        content: Option<Vec<u8>>,
        content_key: Option<String>,
        tries: i32,
        settle_tries: i32,
        age_ms: i64,
        since_ms: Option<i64>,
    }
}

macro_rules! postgres_claimed {
    () => {
        " RETURNING id, sender, provider, provider_key, message_id, content, content_key, tries,
              settle_tries, (extract(epoch FROM now() - created_at) * 1000)::bigint AS age_ms,
              (extract(epoch FROM now() - first_dispatched_at) * 1000)::bigint AS since_ms"
    };
}

macro_rules! sqlite_claimed {
    () => {
        " RETURNING id, sender, provider, provider_key, message_id, content, content_key, tries,
              settle_tries, (SELECT now FROM clock) - created_at AS age_ms,
              (SELECT now FROM clock) - first_dispatched_at AS since_ms"
    };
}

/// No lock is waited for, so times are compared with `now()`.
const READY: Sql = Sql {
    postgres: concat!(
        "UPDATE sends
         SET state = 'claimed', claim_token = $1,
             lease_until = clock_timestamp() + $2 * interval '1 millisecond'
         WHERE id IN (SELECT id FROM sends
                      WHERE state = 'ready' AND kind = 'send' AND due_at <= now()
                        AND sender = ANY($4)
                      ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
           AND state = 'ready'",
        postgres_claimed!()
    ),
    sqlite: concat!(
        "UPDATE sends
         SET state = 'claimed', claim_token = $1, lease_until = (SELECT now FROM clock) + $2
         WHERE id IN (SELECT id FROM sends
                      WHERE state = 'ready' AND kind = 'send'
                        AND due_at <= (SELECT now FROM clock)
                        AND sender IN (SELECT value FROM json_each($4))
                      ORDER BY due_at LIMIT $3)",
        sqlite_claimed!()
    ),
};

const UNCERTAIN: Sql = Sql {
    postgres: concat!(
        "UPDATE sends
         SET claim_token = $1, settle_tries = settle_tries + 1,
             lease_until = clock_timestamp() + $2 * interval '1 millisecond',
             due_at = clock_timestamp() + $2 * interval '1 millisecond'
         WHERE id IN (SELECT id FROM sends
                      WHERE state = 'uncertain' AND kind = 'send' AND due_at <= now()
                        AND sender = ANY($4)
                      ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
           AND state = 'uncertain'",
        postgres_claimed!()
    ),
    sqlite: concat!(
        "UPDATE sends
         SET claim_token = $1, settle_tries = settle_tries + 1,
             lease_until = (SELECT now FROM clock) + $2, due_at = (SELECT now FROM clock) + $2
         WHERE id IN (SELECT id FROM sends
                      WHERE state = 'uncertain' AND kind = 'send'
                        AND due_at <= (SELECT now FROM clock)
                        AND sender IN (SELECT value FROM json_each($4))
                      ORDER BY due_at LIMIT $3)",
        sqlite_claimed!()
    ),
};

pub(super) async fn claim<B: Backend>(
    session: Session<B>,
    which: Claimable,
    senders: Vec<String>,
    limit: u32,
    lease: Duration,
) -> Result<Vec<ClaimedSend>, Fault> {
    let token = ClaimToken::new();
    let mut connection = session.writer().await?;
    let sql = match which {
        Claimable::Ready => READY,
        Claimable::Uncertain => UNCERTAIN,
    };
    let rows: Vec<ClaimedRow> = query::<B>(sql)
        .bind(token.as_uuid())
        .bind(millis(lease))
        .bind(i64::from(limit))
        .bind(List(senders))
        .fetch_all(&mut connection)
        .await?;
    let mut sends = Vec::with_capacity(rows.len());
    for row in rows {
        let id = row.id;
        match opened(&session.secrets.keyring, row, token) {
            Ok(send) => sends.push(send),
            // Another process may have the key, or this one may get it. The send is
            // claimed again when its lease is over.
            Err(Fault::KeyUnknown(key)) => {
                tracing::warn!(
                    key.id = key,
                    "a send is sealed under a key that this process does not have"
                );
            }
            // An uncertain send stays so.
            Err(Fault::Damaged(_)) if which == Claimable::Ready => {
                fail::<B>(&mut connection, id, token).await?;
            }
            Err(Fault::Damaged(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(sends)
}

fn opened(keyring: &Keyring, row: ClaimedRow, token: ClaimToken) -> Result<ClaimedSend, Fault> {
    let damaged = || Fault::Damaged("content");
    let send = SendId::from_uuid(row.id);
    let sealed = row.content.ok_or_else(damaged)?;
    let key = row.content_key.ok_or_else(damaged)?;
    let (to, payload) = content::open(keyring, (send, &row.sender), (&key, &sealed))?;
    let provider_key: [u8; 32] = row
        .provider_key
        .try_into()
        .or(Err(Fault::Damaged("provider_key")))?;
    Ok(ClaimedSend {
        claim: SendClaim { send, token },
        sender: row.sender.parse().or(Err(Fault::Damaged("sender")))?,
        provider: row.provider.unwrap_or_default(),
        key: ProviderKey::from_bytes(provider_key),
        to,
        message_id: row.message_id.unwrap_or_default(),
        payload,
        tries: attempts(row.tries)?,
        settle_tries: attempts(row.settle_tries)?,
        age: span(row.age_ms),
        since_first_dispatch: row.since_ms.map(span),
    })
}

/// Ends a send whose content does not open. It was not sent, so it has failed; if an earlier
/// dispatch may have been sent, the operator decides.
async fn fail<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    token: ClaimToken,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = CASE WHEN may_have_been_sent THEN 'uncertain' ELSE 'failed' END,
                       reason = 'damaged', claim_token = NULL, lease_until = NULL,
                       due_at = NULL,
                       finished_at = CASE WHEN NOT may_have_been_sent THEN clock_timestamp() END
                   WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE sends
                 SET state = CASE WHEN may_have_been_sent THEN 'uncertain' ELSE 'failed' END,
                     reason = 'damaged', claim_token = NULL, lease_until = NULL,
                     due_at = NULL,
                     finished_at = CASE WHEN NOT may_have_been_sent THEN (SELECT now FROM clock) END
                 WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(id)
    .bind(token.as_uuid())
    .execute(connection)
    .await?;
    Ok(())
}
