//! Claims end with their messages and artifacts: everything of several claims, or
//! nothing, in one transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use pipeline::{Claim, Completed, DeliveryId, Finished, Processed, Reason};
use serde_json::json;
use uuid::Uuid;

use crate::artifacts;
use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::{List, Moment, Rows};
use crate::database::Session;
use crate::fault::Fault;
use crate::handlings;
use crate::messages::{self, Origin, Received};
use crate::positions;
use crate::seal::{Keyring, SealedMessage};

/// A claim and what its delivery held.
pub(crate) struct Completion {
    claim: Claim,
    messages: Vec<SealedMessage>,
    /// Why the delivery held no mail.
    ignored: Option<Reason>,
}

impl Completion {
    pub(crate) fn seal(
        claim: Claim,
        processed: Processed,
        keyring: &Keyring,
    ) -> Result<Self, Fault> {
        Ok(Self {
            claim,
            messages: SealedMessage::seal(processed.messages, keyring)?,
            ignored: processed.ignored,
        })
    }
}

/// Ends claims. A statement cannot tell two claims of one delivery apart, so the second
/// of them has a transaction of its own.
pub(crate) async fn complete<B: Backend>(
    session: Session<B>,
    completions: Arc<Vec<Completion>>,
) -> Result<Vec<Completed<Finished>>, Fault> {
    let mut answers = vec![Completed::Lost; completions.len()];
    let mut left: Vec<usize> = (0..completions.len()).collect();
    while !left.is_empty() {
        let mut seen = BTreeSet::new();
        let is_first = |index: &usize| {
            let completion: Option<&Completion> = completions.get(*index);
            completion.is_some_and(|it| seen.insert(it.claim.delivery))
        };
        let (round, later): (Vec<_>, Vec<_>) = left.into_iter().partition(is_first);
        let ended = round.iter().filter_map(|index| completions.get(*index));
        let ended = write(&session, ended.collect()).await?;
        for (index, answer) in round.into_iter().zip(ended) {
            if let Some(slot) = answers.get_mut(index) {
                *slot = answer;
            }
        }
        left = later;
    }
    Ok(answers)
}

/// Writes everything or nothing: the states of the deliveries whose claims still hold,
/// then messages, artifacts and their positions in the inboxes.
///
/// All inboxes are locked before anything is inserted, in order. A message and an
/// artifact belong to one inbox, so a transaction that could collide with this one
/// waits at the same lock, and none that holds such a lock waits for a row of ours.
async fn write<B: Backend>(
    session: &Session<B>,
    completions: Vec<&Completion>,
) -> Result<Vec<Completed<Finished>>, Fault> {
    let mut transaction = session.begin().await?;
    let origins = finish::<B>(&mut transaction, &completions).await?;
    let mut finished = vec![Finished::default(); completions.len()];
    let received = in_order(&completions, &origins);
    let mut changed = BTreeMap::new();
    if !received.is_empty() {
        let inboxes = received.iter().map(Received::inbox).collect();
        let taken = positions::lock::<B>(&mut transaction, inboxes).await?;
        let new = messages::insert::<B>(&mut transaction, &received, &mut finished).await?;
        handlings::insert::<B>(&mut transaction, &new).await?;
        changed = artifacts::insert::<B>(&mut transaction, &new, &taken, &mut finished).await?;
        positions::advance::<B>(&mut transaction, &changed).await?;
    }
    transaction.commit().await?;
    for inbox in changed.keys() {
        session.announce(inbox);
    }
    let answers = completions.iter().zip(finished);
    let answers = answers.map(|(completion, finished)| {
        let holds = origins.contains_key(&completion.claim.delivery.as_uuid());
        if holds {
            Completed::Done(finished)
        } else {
            Completed::Lost
        }
    });
    Ok(answers.collect())
}

/// The messages of the claims that hold, those of one inbox together.
fn in_order<'c>(
    completions: &[&'c Completion],
    origins: &'c HashMap<Uuid, Origin>,
) -> Vec<Received<'c>> {
    let mut received = Vec::new();
    for (index, completion) in completions.iter().enumerate() {
        if let Some(origin) = origins.get(&completion.claim.delivery.as_uuid()) {
            received.extend(completion.messages.iter().map(|sealed| Received {
                sealed,
                origin,
                index,
            }));
        }
    }
    // The sort is stable: within an inbox, messages stay in the order of their claims.
    received.sort_by_key(|it| it.sealed.message.inbox.as_str());
    received
}

row! {
    struct FinishedRow {
        id: Uuid,
        recorded_at: Moment,
        is_polled: bool,
        arrived_at: Option<Moment>,
    }
}

/// Ends the claims that still hold; returns how their deliveries came.
async fn finish<B: Backend>(
    connection: &mut Connection<B>,
    completions: &[&Completion],
) -> Result<HashMap<Uuid, Origin>, Fault> {
    let (mut ids, mut rows) = (Vec::with_capacity(completions.len()), Rows::default());
    for Completion { claim, ignored, .. } in completions {
        ids.push(claim.delivery.as_uuid());
        rows.push(json!({
            "id": claim.delivery.as_uuid().simple().to_string(),
            "token": claim.token.as_uuid().simple().to_string(),
            "reason": ignored.as_ref().map(Reason::as_str),
        }));
    }
    let rows: Vec<FinishedRow> = query::<B>(Sql {
        postgres: "WITH locked AS MATERIALIZED
                 (SELECT id FROM deliveries WHERE id = ANY($2) ORDER BY id FOR UPDATE)
             UPDATE deliveries
             SET state = 'done', claim_token = NULL, reason = ending.reason,
                 finished_at = clock_timestamp()
             FROM locked
             JOIN jsonb_to_recordset($1::text::jsonb) AS ending(id uuid, token uuid, reason text)
                  ON ending.id = locked.id
             WHERE deliveries.id = locked.id AND claim_token = ending.token AND state = 'claimed'
             RETURNING deliveries.id, recorded_at,
                       EXISTS (SELECT 1 FROM polled WHERE delivery_id = deliveries.id) AS is_polled,
                       (SELECT arrived_at FROM polled
                        WHERE delivery_id = deliveries.id) AS arrived_at",
        sqlite: "UPDATE deliveries
             SET state = 'done', claim_token = NULL, reason = ending.reason,
                 finished_at = (SELECT now FROM clock)
             FROM (SELECT unhex(value ->> 'id') AS id, unhex(value ->> 'token') AS token,
                          value ->> 'reason' AS reason FROM json_each($1)) AS ending
             WHERE deliveries.id = ending.id AND claim_token = ending.token AND state = 'claimed'
             RETURNING id, recorded_at,
                       EXISTS (SELECT 1 FROM polled WHERE delivery_id = deliveries.id) AS is_polled,
                       (SELECT arrived_at FROM polled
                        WHERE delivery_id = deliveries.id) AS arrived_at",
    })
    .bind(rows.into_text())
    .bind(List(ids))
    .fetch_all(connection)
    .await?;
    let origin = |row: FinishedRow| {
        let origin = Origin {
            delivery: DeliveryId::from_uuid(row.id),
            recorded_at: row.recorded_at,
            is_polled: row.is_polled,
            arrived_at: row.arrived_at.unwrap_or(row.recorded_at),
        };
        (row.id, origin)
    };
    Ok(rows.into_iter().map(origin).collect())
}
