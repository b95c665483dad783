//! Claiming sends with their content, and settling those that are uncertain.

use std::time::Duration;

use pipeline::{
    ClaimToken, ClaimedSend, ProviderKey, SendClaim, SendId, SendPermit, SendState, SendWritten,
    Settlement,
};
use uuid::Uuid;

use super::content;
use super::event::Event;
use super::proof::prove;
use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::List;
use crate::database::Session;
use crate::fault::Fault;
use crate::seal::Keyring;
use crate::stored::{attempts, millis, span};

/// Which sends are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pool {
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
    pool: Pool,
    senders: Vec<String>,
    limit: u32,
    lease: Duration,
) -> Result<Vec<ClaimedSend>, Fault> {
    let token = ClaimToken::new();
    let mut connection = session.writer().await?;
    let sql = match pool {
        Pool::Ready => READY,
        Pool::Uncertain => UNCERTAIN,
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
            // A ready send was not sent, so it has failed. An uncertain one stays so.
            Err(Fault::Damaged(_)) if pool == Pool::Ready => {
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

/// Ends a send whose content does not open.
async fn fail<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    token: ClaimToken,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'failed', reason = 'damaged', claim_token = NULL,
                       lease_until = NULL, due_at = NULL, finished_at = clock_timestamp()
                   WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE sends
                 SET state = 'failed', reason = 'damaged', claim_token = NULL,
                     lease_until = NULL, due_at = NULL, finished_at = (SELECT now FROM clock)
                 WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(id)
    .bind(token.as_uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// Commits that an uncertain send is handed to its provider again.
pub(super) async fn permit_replay<B: Backend>(
    session: Session<B>,
    claim: SendClaim,
    timeout: Duration,
    window: Duration,
) -> Result<SendPermit, Fault> {
    let id = claim.send.as_uuid();
    let mut transaction = session.begin().await?;
    let is_in_window: Option<bool> = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET tries = tries
                       + (first_dispatched_at + $4 * interval '1 millisecond'
                          > clock_timestamp())::int
                   WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'
                     AND lease_until > clock_timestamp() + $3 * interval '1 millisecond'
                   RETURNING first_dispatched_at + $4 * interval '1 millisecond'
                             > clock_timestamp()",
        sqlite: "UPDATE sends
                 SET tries = tries + (first_dispatched_at + $4 > (SELECT now FROM clock))
                 WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'
                   AND lease_until > (SELECT now FROM clock) + $3
                 RETURNING first_dispatched_at + $4 > (SELECT now FROM clock)",
    })
    .bind(id)
    .bind(claim.token.as_uuid())
    .bind(millis(timeout))
    .bind(millis(window))
    .scalar(&mut transaction)
    .await?;
    let permit = match is_in_window {
        Some(true) => SendPermit::Go,
        Some(false) => SendPermit::WindowOver,
        None => SendPermit::Lost,
    };
    if permit == SendPermit::Go {
        let event = Event::new("replayed").with_token(claim.token.as_uuid());
        event.add::<B>(&mut transaction, id).await?;
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(permit)
}

pub(super) async fn settle<B: Backend>(
    session: Session<B>,
    claim: SendClaim,
    settlement: Settlement,
) -> Result<SendWritten, Fault> {
    let id = claim.send.as_uuid();
    let mut transaction = session.begin().await?;
    let (state, wait, reason) = match &settlement {
        Settlement::Sent(receipt) => {
            let written = prove::<B>(&mut transaction, id, receipt.as_ref(), None).await?;
            transaction.commit().await?;
            session.announce(&claim.send.to_string());
            return Ok(written);
        }
        Settlement::Unsent(reason) => (SendState::Ready, Some(Duration::ZERO), reason),
        Settlement::Unknown(wait, reason) => (SendState::Uncertain, *wait, reason),
    };
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = $3, reason = $4, claim_token = NULL, lease_until = NULL,
                       due_at = clock_timestamp() + $5 * interval '1 millisecond'
                   WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'",
        sqlite: "UPDATE sends
                 SET state = $3, reason = $4, claim_token = NULL, lease_until = NULL,
                     due_at = (SELECT now FROM clock) + $5
                 WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'",
    })
    .bind(id)
    .bind(claim.token.as_uuid())
    .bind(state.as_str())
    .bind(reason.as_str())
    .bind(wait.map(millis))
    .execute(&mut transaction)
    .await?;
    if written != 1 {
        transaction.rollback().await?;
        return Ok(SendWritten::Lost);
    }
    let what = match state {
        SendState::Ready => "settled_unsent",
        _ => "still_uncertain",
    };
    let event = Event::new(what).because(reason.as_str());
    event.add::<B>(&mut transaction, id).await?;
    transaction.commit().await?;
    session.announce(&claim.send.to_string());
    Ok(SendWritten::Done(state))
}
