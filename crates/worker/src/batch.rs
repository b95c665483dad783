//! A post with several mails: each mail becomes a delivery of its own.
//!
//! One bad mail then fails alone: it is visible, can be requeued, and does not affect the
//! others. The parts are recorded before the post is completed. If the worker stops in
//! between, the post is claimed again, and recording the same parts again changes nothing.

use pipeline::{
    ContentDigest, DeliveryId, DeliveryKey, NewDelivery, OnConflict, Recorded, SourceName,
};
use providers::BatchPart;

use crate::deps::Deps;
use crate::failure::Failure;

/// Records each part as a delivery and notifies the workers.
pub(crate) async fn split(
    deps: &Deps,
    source: &SourceName,
    parts: Vec<BatchPart>,
) -> Result<(), Failure> {
    let deliveries = parts.into_iter().map(|part| delivery(source, part));
    let recorded = match deps.deliveries.record(deliveries.collect()).await {
        Ok(recorded) => recorded,
        Err(error) => {
            let failure = Failure::of_store(&error);
            if failure.is_store_outage() {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(%source, error, "failed to record the mails of a post; retried later");
            }
            return Err(failure);
        }
    };
    let new = recorded.iter().filter(|one| one.is_fresh());
    let new: Vec<DeliveryId> = new.map(|one| Recorded::id(*one)).collect();
    if let Err(error) = deps.doorbell.notify(&new).await {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(error, "failed to notify workers; the sweeper will");
    }
    Ok(())
}

fn delivery(source: &SourceName, part: BatchPart) -> NewDelivery {
    let content = ContentDigest::of(&[&part.body]);
    NewDelivery {
        id: DeliveryId::new(),
        source: source.clone(),
        key: DeliveryKey::from_content(source, &content),
        content,
        content_type: part.content_type.to_owned(),
        body: part.body,
        on_conflict: OnConflict::Keep,
    }
}
