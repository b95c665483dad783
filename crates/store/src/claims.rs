//! Claims: who may work on a delivery. `end.rs` says how that ends without a result,
//! `complete.rs` how it ends with one.

pub(crate) mod end;
mod give_back;
pub(crate) mod held;
pub(crate) mod large;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Claim, ClaimToken, DeliveryId};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::{List, Moment};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::{attempts, millis, span};
use crate::uncancelled::Uncancelled;

use give_back::ReturnClaimOnDrop;

/// A delivery that somebody asks for, and for how long.
pub(crate) struct Wish {
    pub(crate) delivery: DeliveryId,
    pub(crate) lease: Duration,
}

/// The outcome of asking for a claim.
pub(crate) enum Taken<B: Backend> {
    Yours(Box<TakenClaim<B>>),
    NotNow,
    Finished,
}

/// A claim that was committed just now.
pub(crate) struct TakenClaim<B: Backend> {
    pub(crate) claim: Claim,
    pub(crate) row: ClaimedRow,
    /// Gives the claim back if no worker gets it.
    pub(crate) return_on_drop: ReturnClaimOnDrop<B>,
}

row! {
    /// A delivery that was claimed just now.
    pub(crate) struct ClaimedRow {
        id: Uuid,
        source: String,
        content_type: String,
        /// A large body is read later.
        body: Option<Vec<u8>>,
        body_key: String,
        attempts: i32,
        unended: i32,
        recorded_at: Moment,
        age: i64,
    }
}

/// One guarded update: of two claimers the second waits for the first, looks at
/// the row again and finds that it may not be claimed yet.
pub(crate) async fn claim<B: Backend>(
    session: Session<B>,
    wishes: Arc<Vec<Wish>>,
    work: Uncancelled,
) -> Result<Vec<Taken<B>>, Fault> {
    let mut by_lease: BTreeMap<i64, Vec<Uuid>> = BTreeMap::new();
    for wish in wishes.iter() {
        let deliveries = by_lease.entry(millis(wish.lease)).or_default();
        deliveries.push(wish.delivery.as_uuid());
    }
    let mut connection = session.writer().await?;
    let mut claimed = HashMap::new();
    for (lease, deliveries) in by_lease {
        let token = ClaimToken::new();
        for row in take::<B>(&mut connection, deliveries, token, lease).await? {
            claimed.insert(row.id, yours(row, token, &session, &work)?);
        }
    }
    let others = wishes.iter().map(|wish| wish.delivery.as_uuid());
    let others = others.filter(|id| !claimed.contains_key(id)).collect();
    let mut unfinished = unfinished::<B>(&mut connection, others).await?;
    drop(connection);
    // A second request for the same delivery in this batch gets "not now".
    unfinished.extend(claimed.keys());
    let answer = |wish: &Wish| {
        let id = wish.delivery.as_uuid();
        match claimed.remove(&id) {
            Some(taken) => taken,
            None if unfinished.contains(&id) => Taken::NotNow,
            None => Taken::Finished,
        }
    };
    Ok(wishes.iter().map(answer).collect())
}

fn yours<B: Backend>(
    row: ClaimedRow,
    token: ClaimToken,
    session: &Session<B>,
    work: &Uncancelled,
) -> Result<Taken<B>, Fault> {
    let claim = Claim {
        delivery: DeliveryId::from_uuid(row.id),
        token,
        attempt: attempts(row.attempts)?.saturating_add(1),
        unended: attempts(row.unended)?,
        age: span(row.age),
    };
    let return_on_drop = ReturnClaimOnDrop::new(&claim, session.clone(), work.clone());
    Ok(Taken::Yours(Box::new(TakenClaim {
        claim,
        row,
        return_on_drop,
    })))
}

/// Claims those that may be claimed, locking them in the order of their ids.
///
/// Postgres is asked for rows that are not finished, instead of rows that are pending or
/// claimed. So it looks the ids up, and does not read the index of all unfinished rows.
async fn take<B: Backend>(
    connection: &mut Connection<B>,
    deliveries: Vec<Uuid>,
    token: ClaimToken,
    lease: i64,
) -> Result<Vec<ClaimedRow>, Fault> {
    query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'claimed',
                 unended_claims = unended_claims + 1,
                 claim_token = $2,
                 tried_since = coalesce(tried_since, clock_timestamp()),
                 claimable_at = clock_timestamp() + $3 * interval '1 millisecond',
                 ring_at = clock_timestamp() + $3 * interval '1 millisecond'
             WHERE id IN (SELECT id FROM deliveries
                          WHERE id = ANY($1) AND state NOT IN ('done', 'buried')
                            AND claimable_at <= clock_timestamp()
                          ORDER BY id FOR UPDATE)
             RETURNING id, source, content_type,
                       CASE WHEN octet_length(body) <= $4 THEN body END AS body,
                       body_key, attempts, unended_claims - 1 AS unended, recorded_at,
                       (extract(epoch FROM clock_timestamp() - tried_since) * 1000)::bigint AS age",
        sqlite: "UPDATE deliveries
             SET state = 'claimed',
                 unended_claims = unended_claims + 1,
                 claim_token = $2,
                 tried_since = coalesce(tried_since, (SELECT now FROM clock)),
                 claimable_at = (SELECT now FROM clock) + $3,
                 ring_at = (SELECT now FROM clock) + $3
             WHERE id IN (SELECT unhex(value) FROM json_each($1))
               AND state IN ('pending', 'claimed')
               AND claimable_at <= (SELECT now FROM clock)
             RETURNING id, source, content_type,
                       CASE WHEN length(body) <= $4 THEN body END AS body,
                       body_key, attempts, unended_claims - 1 AS unended, recorded_at,
                       (SELECT now FROM clock) - tried_since AS age",
    })
    .bind(List(deliveries))
    .bind(token.as_uuid())
    .bind(lease)
    .bind(large::BYTES)
    .fetch_all(connection)
    .await
}

/// Which of these deliveries are unfinished.
async fn unfinished<B: Backend>(
    connection: &mut Connection<B>,
    deliveries: Vec<Uuid>,
) -> Result<HashSet<Uuid>, Fault> {
    if deliveries.is_empty() {
        return Ok(HashSet::new());
    }
    let ids = query::<B>(Sql {
        postgres: "SELECT id FROM deliveries
             WHERE id = ANY($1) AND state NOT IN ('done', 'buried')",
        sqlite: "SELECT id FROM deliveries
             WHERE id IN (SELECT unhex(value) FROM json_each($1))
               AND state IN ('pending', 'claimed')",
    })
    .bind(List(deliveries))
    .scalars(connection)
    .await?;
    Ok(ids.into_iter().collect())
}
