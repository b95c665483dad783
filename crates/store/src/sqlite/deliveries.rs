//! Many deliveries in one statement: each statement costs a round trip to the thread of the
//! connection.

use serde_json::json;
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::Sqlite;
use crate::backend::Backend;
use crate::batch::{Batch, Unrecorded};
use crate::column::{Rows, hex};
use crate::deliveries;
use crate::fault::Fault;

/// Inserts those whose keys are free; returns their ids.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    batch: &Batch,
    unrecorded: &[Unrecorded],
) -> Result<Vec<Uuid>, Fault> {
    let mut inserted = Vec::with_capacity(unrecorded.len());
    let mut part = Part::default();
    for candidate in unrecorded {
        let length = batch.delivery(candidate)?.body.len();
        if length > Sqlite::MOST_BYTES {
            inserted.extend(deliveries::insert_one::<Sqlite>(connection, batch, candidate).await?);
            continue;
        }
        if part.bodies.len() + length > Sqlite::MOST_BYTES {
            inserted.extend(std::mem::take(&mut part).insert(connection, batch).await?);
        }
        part.push(candidate, batch)?;
    }
    inserted.extend(part.insert(connection, batch).await?);
    Ok(inserted)
}

/// The rows of one statement. JSON would double the bodies, so these follow each other in one
/// value, and a row says where its own is.
#[derive(Default)]
struct Part<'u> {
    candidates: Vec<&'u Unrecorded>,
    rows: Rows,
    bodies: Vec<u8>,
}

impl<'u> Part<'u> {
    fn push(&mut self, candidate: &'u Unrecorded, batch: &Batch) -> Result<(), Fault> {
        let delivery = batch.delivery(candidate)?;
        self.rows.push(json!({
            "id": delivery.id.as_uuid().simple().to_string(),
            "source": delivery.source.as_str(),
            "key": hex(candidate.key.as_bytes()),
            "digest": hex(delivery.content.as_bytes()),
            "type": delivery.content_type,
            "conflict": candidate.conflict_of.map(|id| id.as_uuid().simple().to_string()),
            // Positions count from 1.
            "from": self.bodies.len() + 1,
            "length": delivery.body.len(),
        }));
        self.bodies.extend(&delivery.body);
        self.candidates.push(candidate);
        Ok(())
    }

    async fn insert(
        self,
        connection: &mut SqliteConnection,
        batch: &Batch,
    ) -> Result<Vec<Uuid>, Fault> {
        match self.candidates.as_slice() {
            [] => return Ok(Vec::new()),
            [candidate] => {
                return deliveries::insert_one::<Sqlite>(connection, batch, candidate).await;
            }
            _ => {}
        }
        let insert = sqlx::query(
            "INSERT INTO deliveries
                 (id, source, delivery_key, content_digest, content_type, conflict_of, body,
                  body_key, recorded_at, claimable_at, ring_at)
             SELECT unhex(value ->> 'id'), value ->> 'source', unhex(value ->> 'key'),
                    unhex(value ->> 'digest'), value ->> 'type', unhex(value ->> 'conflict'),
                    substr($2, value ->> 'from', value ->> 'length'), $3, now, now, now + 2000
             FROM json_each($1), clock WHERE true
             ON CONFLICT (delivery_key) DO NOTHING
             RETURNING id",
        )
        .bind(self.rows.into_text())
        .bind(self.bodies)
        .bind(batch.body_key.as_str().to_owned());
        let inserted: Vec<(Uuid,)> = Sqlite::fetch(connection, insert).await?;
        Ok(inserted.into_iter().map(|(id,)| id).collect())
    }
}
