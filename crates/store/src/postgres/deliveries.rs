//! Many deliveries in one statement, which is one round trip and one commit.

use pipeline::NewDelivery;
use uuid::Uuid;

use super::Postgres;
use super::link::Link;
use crate::backend::Backend;
use crate::batch::{Batch, Unrecorded};
use crate::deliveries;
use crate::fault::Fault;

/// Inserts those whose keys are free; returns their ids.
pub(super) async fn insert(
    link: &mut Link,
    batch: &Batch,
    unrecorded: &[Unrecorded],
) -> Result<Vec<Uuid>, Fault> {
    if let [candidate] = unrecorded {
        return deliveries::insert_one::<Postgres>(link, batch, candidate).await;
    }
    let mut columns = Columns::default();
    for candidate in unrecorded {
        columns.push(candidate, batch.delivery(candidate)?);
    }
    let insert = sqlx::query(
        "INSERT INTO deliveries
             (id, source, delivery_key, content_digest, content_type, conflict_of, body,
              body_key, recorded_at, claimable_at, ring_at)
         SELECT delivery.*, $8, now, now, now + interval '2 seconds'
         FROM clock_timestamp() AS now, UNNEST
             ($1::uuid[], $2::text[], $3::bytea[], $4::bytea[], $5::text[], $6::uuid[], $7::bytea[])
             AS delivery
         ON CONFLICT (delivery_key) DO NOTHING
         RETURNING id",
    )
    .bind(columns.ids)
    .bind(columns.sources)
    .bind(columns.keys)
    .bind(columns.digests)
    .bind(columns.content_types)
    .bind(columns.conflicts)
    .bind(columns.bodies)
    .bind(batch.body_key.as_str());
    let inserted: Vec<(Uuid,)> = Postgres::fetch(link, insert).await?;
    Ok(inserted.into_iter().map(|(id,)| id).collect())
}

/// Rows as one array for each column.
#[derive(Default)]
struct Columns<'b> {
    ids: Vec<Uuid>,
    sources: Vec<&'b str>,
    keys: Vec<&'b [u8]>,
    digests: Vec<&'b [u8]>,
    content_types: Vec<&'b str>,
    conflicts: Vec<Option<Uuid>>,
    bodies: Vec<&'b [u8]>,
}

impl<'b> Columns<'b> {
    fn push(&mut self, candidate: &'b Unrecorded, delivery: &'b NewDelivery) {
        self.ids.push(delivery.id.as_uuid());
        self.sources.push(delivery.source.as_str());
        self.keys.push(candidate.key.as_bytes());
        self.digests.push(delivery.content.as_bytes());
        self.content_types.push(&delivery.content_type);
        self.conflicts
            .push(candidate.conflict_of.map(|id| id.as_uuid()));
        self.bodies.push(&delivery.body);
    }
}
