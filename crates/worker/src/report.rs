//! The log line and the counts of one attempt at a delivery.

use std::time::Instant;

use pipeline::{DeliveryId, Finished};

use crate::deps::Deps;
use crate::outcome::DeliveryOutcome;

/// Writes one log line and counts the attempt. Only ids and words from closed lists are
/// logged.
pub(crate) fn report(
    deps: &Deps,
    id: DeliveryId,
    source: &str,
    outcome: &DeliveryOutcome,
    began: Instant,
) {
    let outcome = match outcome {
        DeliveryOutcome::Done(finished) => {
            count_duplicates(deps, finished);
            count_recovered(deps, source, finished);
            tracing::info!(
                delivery.id = %id,
                source,
                messages = finished.messages,
                artifacts = finished.artifacts,
                duplicate_messages = finished.duplicate_messages,
                duplicate_artifacts = finished.duplicate_artifacts,
                "delivery done"
            );
            "done"
        }
        DeliveryOutcome::Ignored(reason) => {
            tracing::info!(delivery.id = %id, source, %reason, "delivery ignored");
            "ignored"
        }
        DeliveryOutcome::RetryLater(reason) => {
            tracing::warn!(delivery.id = %id, source, %reason, "delivery will be retried");
            "retry_later"
        }
        DeliveryOutcome::DeadLettered(reason) => {
            tracing::error!(delivery.id = %id, source, %reason, "delivery dead-lettered");
            "dead_lettered"
        }
        DeliveryOutcome::Lost => {
            tracing::warn!(delivery.id = %id, source, "claim lost to another worker");
            "lost"
        }
        DeliveryOutcome::NotClaimable => "not_claimable",
        DeliveryOutcome::StoreUnavailable(error) => {
            let error: &dyn std::error::Error = error;
            tracing::warn!(
                delivery.id = %id,
                source,
                error,
                "database unavailable; retried when the lease expires"
            );
            "database_unavailable"
        }
    };
    deps.meters.processed(source, outcome).inc();
    deps.meters
        .process_seconds
        .observe(began.elapsed().as_secs_f64());
}

/// Counts messages that polling found before any webhook post announced them.
fn count_recovered(deps: &Deps, source: &str, finished: &Finished) {
    if finished.recovered > 0 {
        let recovered = deps.meters.recovered(source);
        recovered.inc_by(finished.recovered.into());
    }
}

fn count_duplicates(deps: &Deps, finished: &Finished) {
    let layers = [
        ("message", finished.duplicate_messages),
        ("artifact", finished.duplicate_artifacts),
    ];
    let lag = finished.other_path_lag.map(|lag| lag.as_secs_f64());
    if let Some(lag) = lag {
        deps.meters.path_lag_seconds.observe(lag);
    }
    for (layer, count) in layers {
        deps.meters.duplicates(layer).inc_by(count.into());
    }
}
