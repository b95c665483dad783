//! Artifacts that no attempt waits for, of several inboxes in one statement.

use std::collections::{BTreeMap, HashMap, HashSet};

use pipeline::{Finished, NewArtifact, Reason};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Arrived, InboxArrivals, count};
use crate::backend::{Backend, Connection, Sql, query};
use crate::column::{List, Rows, hex};
use crate::fault::Fault;
use crate::seal::Sealed;
use crate::stored::millis;

/// Inserts the artifacts of these inboxes unless their keys are known. Returns the last
/// position of each inbox that has a new one.
pub(super) async fn insert<'c, B: Backend>(
    connection: &mut Connection<B>,
    inboxes: &[InboxArrivals<'_, 'c>],
    finished: &mut [Finished],
) -> Result<BTreeMap<&'c str, i64>, Fault> {
    let (mut rows, mut keys) = (Rows::default(), HashSet::new());
    for arrivals in inboxes {
        for arrived in arrivals.new {
            let sealed = arrived.sealed;
            for (artifact, value) in sealed.message.artifacts.iter().zip(&sealed.values) {
                // Two rows with one key would leave a gap in the positions.
                if keys.insert(artifact.key.as_bytes()) {
                    rows.push(row(arrivals, arrived, artifact, value.as_ref()));
                }
            }
        }
    }
    if rows.is_empty() {
        return Ok(BTreeMap::new());
    }
    let keys = keys.into_iter().map(|key| key.to_vec()).collect();
    let inserted = insert_rows::<B>(connection, rows, keys).await?;
    let mut last = BTreeMap::new();
    for arrivals in inboxes {
        for arrived in arrivals.new {
            for artifact in &arrived.sealed.message.artifacts {
                let seq = inserted.get(&artifact.id.as_uuid());
                count(finished, arrived.index, seq.is_some());
                if let Some(seq) = seq {
                    let last = last.entry(arrivals.inbox).or_insert(*seq);
                    *last = (*last).max(*seq);
                }
            }
        }
    }
    Ok(last)
}

fn row(
    arrivals: &InboxArrivals<'_, '_>,
    arrived: &Arrived<'_>,
    artifact: &NewArtifact,
    value: Option<&Sealed>,
) -> Value {
    json!({
        "id": artifact.id.as_uuid().simple().to_string(),
        "message": arrived.sealed.message.id.as_uuid().simple().to_string(),
        "inbox": arrivals.inbox,
        "taken": arrivals.last_seq,
        "key": hex(artifact.key.as_bytes()),
        "kind": artifact.kind.as_str(),
        "verdict": artifact.verdict.as_str(),
        "reason": artifact.verdict.reason().map(Reason::as_str),
        "rule": artifact.rule.as_str(),
        "confidence": artifact.confidence,
        "host": artifact.host,
        "value": value.map(|sealed| hex(&sealed.bytes)),
        "value_key": value.map(|sealed| sealed.key.as_str()),
        "received": arrived.received_at.as_micros(),
        "lifetime": millis(artifact.lifetime),
    })
}

/// Inserts rows after the positions that are taken. Only rows whose keys are free get a
/// position. The inboxes are locked, so no other transaction takes one of the keys
/// meanwhile.
///
/// Postgres gets the keys as an array, too, and finds the known ones by the index. Of
/// JSON it does not know how many rows there are, and would read the whole table.
async fn insert_rows<B: Backend>(
    connection: &mut Connection<B>,
    rows: Rows,
    keys: Vec<Vec<u8>>,
) -> Result<HashMap<Uuid, i64>, Fault> {
    let rows: Vec<(Uuid, i64)> = query::<B>(Sql {
        postgres: "INSERT INTO artifacts
                 (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
                  confidence, host, value, value_key, expires_at)
             SELECT id, message, inbox,
                    taken + row_number() OVER (PARTITION BY inbox ORDER BY ordinality),
                    decode(key, 'hex'), kind, verdict, reason, rule, confidence, host,
                    decode(value, 'hex'), value_key,
                    'epoch'::timestamptz + received * interval '1 microsecond'
                        + lifetime * interval '1 millisecond'
             FROM ROWS FROM (jsonb_to_recordset($1::text::jsonb) AS
                 (id uuid, message uuid, inbox text, taken bigint, key text, kind text,
                  verdict text, reason text, rule text, confidence smallint, host text,
                  value text, value_key text, received bigint, lifetime bigint))
                 WITH ORDINALITY
             WHERE decode(key, 'hex') NOT IN
                 (SELECT artifact_key FROM artifacts WHERE artifact_key = ANY($2))
             ON CONFLICT (artifact_key) DO NOTHING
             RETURNING id, seq",
        sqlite: "INSERT INTO artifacts
                 (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
                  confidence, host, value, value_key, expires_at)
             SELECT unhex(value ->> 'id'), unhex(value ->> 'message'), value ->> 'inbox',
                    (value ->> 'taken')
                        + row_number() OVER (PARTITION BY value ->> 'inbox' ORDER BY key),
                    unhex(value ->> 'key'), value ->> 'kind', value ->> 'verdict',
                    value ->> 'reason', value ->> 'rule', value ->> 'confidence',
                    value ->> 'host', unhex(value ->> 'value'), value ->> 'value_key',
                    (value ->> 'received') / 1000 + (value ->> 'lifetime')
             FROM json_each($1)
             WHERE NOT EXISTS (SELECT 1 FROM artifacts
                               WHERE artifact_key = unhex(json_each.value ->> 'key'))
             ON CONFLICT (artifact_key) DO NOTHING
             RETURNING id, seq",
    })
    .bind(rows.into_text())
    .bind(List(keys))
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}
