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

/// Checks sources that post, until `stop`.
pub(crate) async fn watch(deps: &Deps, posting: &[SourceName], stop: &CancellationToken) {
    let mut silent = HashSet::new();
    loop {
        for source in posting {
            if let Err(error) = deps.silence.observe_posts(source).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(%source, error, "failed to check when a source last posted");
            }
        }
        if let Ok(standings) = deps.silence.source_health().await {
            for standing in standings.iter().filter(|one| posting.contains(&one.source)) {
                report(deps, standing, &mut silent);
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
fn report(deps: &Deps, standing: &SourceHealth, silent: &mut HashSet<SourceName>) {
    let source = &standing.source;
    let is_silent = standing.is_silent(deps.settings.silence);
    let gauge = deps
        .meters
        .silent
        .get_or_create(&SourceLabel::new(source.as_str()));
    gauge.set(i64::from(is_silent));
    let quiet_seconds = standing.since_last_post.unwrap_or_default().as_secs();
    let habit_seconds = standing.usual_gap.as_secs();
    if is_silent && silent.insert(source.clone()) {
        tracing::error!(
            %source,
            quiet_seconds,
            habit_seconds,
            "source is silent: its webhook may be dead"
        );
    } else if !is_silent && silent.remove(source) {
        tracing::info!(%source, "source posts again");
    }
}
