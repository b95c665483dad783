//! The end of leases: a claim without a dispatch has sent nothing, a dispatch without a
//! result may have sent something.

use pipeline::{ExpiredLeases, SendId};
use uuid::Uuid;

use super::event::Event;
use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::fault::Fault;

/// How many rows of each kind one call changes at most.
const EXPIRED_AT_ONCE: i64 = 500;

pub(super) async fn expire<B: Backend>(session: Session<B>) -> Result<ExpiredLeases, Fault> {
    let ready = expire_by(&session, CLAIMED, ("released", "lease_over")).await?;
    let uncertain = expire_by(&session, DISPATCHED, ("uncertain", "lease_over")).await?;
    let cancelled = expire_by(&session, HELD, ("cancelled", "not_approved")).await?;
    if cancelled > 0 {
        B::truncate_log(&mut *session.writer().await?).await?;
    }
    Ok(ExpiredLeases {
        ready,
        uncertain,
        cancelled,
    })
}

async fn expire_by<B: Backend>(
    session: &Session<B>,
    sql: Sql,
    (what, why): (&'static str, &str),
) -> Result<u64, Fault> {
    let mut transaction = session.begin().await?;
    let ids: Vec<Uuid> = query::<B>(sql)
        .bind(EXPIRED_AT_ONCE)
        .scalars(&mut transaction)
        .await?;
    for id in &ids {
        let event = Event::new(what).because(why);
        event.add::<B>(&mut transaction, *id).await?;
    }
    transaction.commit().await?;
    for id in &ids {
        session.announce(&SendId::from_uuid(*id).to_string());
    }
    Ok(ids.len() as u64)
}

/// A claimed send was not handed to its provider yet.
const CLAIMED: Sql = Sql {
    postgres: "UPDATE sends
               SET state = 'ready', claim_token = NULL, lease_until = NULL, due_at = now()
               WHERE id IN (SELECT id FROM sends
                            WHERE state = 'claimed' AND lease_until <= now()
                            ORDER BY lease_until LIMIT $1 FOR UPDATE SKIP LOCKED)
                 AND state = 'claimed'
               RETURNING id",
    sqlite: "UPDATE sends
             SET state = 'ready', claim_token = NULL, lease_until = NULL,
                 due_at = (SELECT now FROM clock)
             WHERE id IN (SELECT id FROM sends
                          WHERE state = 'claimed' AND lease_until <= (SELECT now FROM clock)
                          ORDER BY lease_until LIMIT $1)
             RETURNING id",
};

/// A dispatched send may have been accepted. The token of a guard stays, so that its
/// holder is recognised when it comes late.
const DISPATCHED: Sql = Sql {
    postgres: "UPDATE sends
               SET state = 'uncertain', reason = 'lease_over', lease_until = NULL,
                   may_have_been_sent = (kind = 'send'),
                   claim_token = CASE WHEN kind = 'guard' THEN claim_token END,
                   due_at = CASE WHEN kind = 'send' THEN now() END
               WHERE id IN (SELECT id FROM sends
                            WHERE state = 'dispatched' AND lease_until <= now()
                            ORDER BY lease_until LIMIT $1 FOR UPDATE SKIP LOCKED)
                 AND state = 'dispatched'
               RETURNING id",
    sqlite: "UPDATE sends
             SET state = 'uncertain', reason = 'lease_over', lease_until = NULL,
                 may_have_been_sent = (kind = 'send'),
                 claim_token = CASE WHEN kind = 'guard' THEN claim_token END,
                 due_at = CASE WHEN kind = 'send' THEN (SELECT now FROM clock) END
             WHERE id IN (SELECT id FROM sends
                          WHERE state = 'dispatched' AND lease_until <= (SELECT now FROM clock)
                          ORDER BY lease_until LIMIT $1)
             RETURNING id",
};

const HELD: Sql = Sql {
    postgres: "UPDATE sends
               SET state = 'cancelled', reason = 'not_approved', content = NULL,
                   content_key = NULL, due_at = NULL, finished_at = now()
               WHERE id IN (SELECT id FROM sends
                            WHERE state = 'held' AND due_at <= now()
                            ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
                 AND state = 'held'
               RETURNING id",
    sqlite: "UPDATE sends
             SET state = 'cancelled', reason = 'not_approved', content = NULL,
                 content_key = NULL, due_at = NULL, finished_at = (SELECT now FROM clock)
             WHERE id IN (SELECT id FROM sends
                          WHERE state = 'held' AND due_at <= (SELECT now FROM clock)
                          ORDER BY due_at LIMIT $1)
             RETURNING id",
};
