//! Raises an alarm when a source has been silent for much longer than usual.

use std::collections::HashSet;
use std::time::Duration;

use pipeline::{SourceHealth, SourceLabel, SourceName};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::deps::Deps;
use crate::jitter::jittered;

/// How often sources are checked.
const INTERVAL: Duration = Duration::from_secs(30);
/// A round takes no longer than this.
const LONGEST_ROUND: Duration = Duration::from_mins(5);
/// The name of this task.
pub(crate) const TASK: &str = "watch for silent sources";

/// Checks sources that post, until `stop`.
pub(crate) async fn watch(deps: &Deps, posting: &[SourceName], stop: &CancellationToken) {
    let mut silent = HashSet::new();
    loop {
        deps.tasks.round(TASK, LONGEST_ROUND);
        for source in posting {
            if let Err(error) = deps.silence.observe_posts(source).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(%source, error, "failed to check when a source last posted");
            }
        }
        if let Ok(sources) = deps.silence.source_health().await {
            for health in sources.iter().filter(|one| posting.contains(&one.source)) {
                report(deps, health, &mut silent);
            }
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sleep(jittered(INTERVAL)) => {}
        }
    }
}

/// Sets the gauge, and logs once when silence begins and once when it ends.
fn report(deps: &Deps, health: &SourceHealth, silent: &mut HashSet<SourceName>) {
    let source = &health.source;
    let is_silent = health.is_silent(deps.settings.silence);
    let gauge = deps
        .meters
        .silent
        .get_or_create(&SourceLabel::new(source.as_str()));
    gauge.set(i64::from(is_silent));
    let silent_seconds = health.since_last_post.unwrap_or_default().as_secs();
    let usual_gap_seconds = health.usual_gap.as_secs();
    if is_silent && silent.insert(source.clone()) {
        tracing::error!(
            %source,
            silent_seconds,
            usual_gap_seconds,
            "source is silent: its webhook may be dead"
        );
    } else if !is_silent && silent.remove(source) {
        tracing::info!(%source, "source posts again");
    }
}
