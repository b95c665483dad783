//! Saves what a round has found.

use pipeline::{
    Completed, ContentDigest, DeliveryId, DeliveryKey, Lease, NewDelivery, OnConflict, Polled,
    Recorded, SourceLabel, Timestamp,
};

use super::{HeldLease, Stop};
use crate::client::{FoundMail, ListedMail};
use crate::deps::Deps;

/// A mail that was found, as its delivery is stored.
pub(super) fn delivery(lease: &Lease, item: &ListedMail, found: FoundMail) -> Polled {
    let id = found.lasting_id.as_deref().unwrap_or(&item.id);
    let delivery = NewDelivery {
        id: DeliveryId::new(),
        source: lease.source.clone(),
        key: DeliveryKey::from_poll(&lease.source, id),
        // A source may describe the same mail differently each time (read flags, new
        // links), so only the id identifies a mail.
        content: ContentDigest::of(&[id.as_bytes()]),
        content_type: found.content_type.to_owned(),
        body: found.body,
        on_conflict: OnConflict::Keep,
    };
    let arrived_at = item.arrived_at.map(Timestamp::end_of_its_second);
    Polled {
        delivery,
        arrived_at,
    }
}

/// Saves deliveries and cursor in one transaction, then notifies the workers. If the
/// notification is lost, the sweeper repeats it.
pub(super) async fn save(
    deps: &Deps,
    held: &mut HeldLease,
    batch: Vec<Polled>,
    cursor: String,
) -> Result<u64, Stop> {
    if batch.is_empty() && cursor == held.lease.cursor {
        return Ok(0);
    }
    let sizes: Vec<usize> = batch.iter().map(|mail| mail.delivery.body.len()).collect();
    let (source, mails) = (held.lease.source.as_str(), batch.len());
    tracing::debug!(source, mails, "recording polled mails");
    let answers = match deps.polls.save(&held.lease, batch, &cursor).await? {
        Completed::Done(answers) => answers,
        Completed::Lost => return Err(Stop::Lost),
    };
    held.lease.cursor = cursor;
    for (answer, size) in answers.iter().zip(sizes) {
        if answer.is_fresh() {
            deps.quota.add(&held.lease.source, size);
        }
    }
    let fresh = answers.iter().filter(|answer| answer.is_fresh());
    let fresh: Vec<DeliveryId> = fresh.map(|answer| Recorded::id(*answer)).collect();
    if fresh.is_empty() {
        return Ok(0);
    }
    let label = SourceLabel::new(held.lease.source.as_str());
    deps.meters
        .found
        .get_or_create(&label)
        .inc_by(fresh.len() as u64);
    if let Err(error) = deps.doorbell.notify(&fresh).await {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(error, "failed to notify workers; the sweeper will");
    }
    Ok(fresh.len() as u64)
}
