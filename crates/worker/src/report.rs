//! What is said of a delivery when an attempt at it ends.

use std::time::Instant;

use pipeline::{DeliveryId, Finished};

use crate::process::{Deps, Outcome};

/// One line and one count for each delivery; ids and closed words only.
pub(crate) fn report(deps: &Deps, id: DeliveryId, source: &str, outcome: &Outcome, began: Instant) {
    let word = match outcome {
        Outcome::Done(finished) => {
            count_duplicates(deps, finished);
            count_recovered(deps, source, finished);
            tracing::info!(delivery.id = %id, source, ?finished, "delivery done");
            "done"
        }
        Outcome::Ignored(reason) => {
            tracing::info!(delivery.id = %id, source, %reason, "delivery ignored");
            "ignored"
        }
        Outcome::RetryLater(reason) => {
            tracing::warn!(delivery.id = %id, source, %reason, "delivery put back");
            "retry_later"
        }
        Outcome::DeadLettered(reason) => {
            tracing::error!(delivery.id = %id, source, %reason, "delivery buried");
            "buried"
        }
        Outcome::Lost => {
            tracing::warn!(delivery.id = %id, source, "claim lost to another worker");
            "lost"
        }
        Outcome::Echo => "echo",
        Outcome::StoreAway(error) => {
            let error: &dyn std::error::Error = error;
            tracing::warn!(delivery.id = %id, source, error, "delivery left to its lease");
            "store_away"
        }
    };
    let label = pipeline::OutcomeLabel::new(source, word);
    deps.meters.processed.get_or_create(&label).inc();
    deps.meters
        .process_seconds
        .observe(began.elapsed().as_secs_f64());
}

/// Messages that no post told of before polling found them.
fn count_recovered(deps: &Deps, source: &str, finished: &Finished) {
    if finished.recovered > 0 {
        let label = pipeline::SourceLabel::new(source);
        let recovered = deps.meters.poll_recovered.get_or_create(&label);
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
        let label = pipeline::OutcomeLabel::new(layer, "duplicate");
        deps.meters
            .duplicates
            .get_or_create(&label)
            .inc_by(count.into());
    }
}
