//! Runs all polled sources, each in its own task.

use std::sync::Arc;

use pipeline::SourceName;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::deps::Deps;
use crate::polled_sources::PolledSources;
use crate::source_loop::source_loop;
use crate::watch::waiting_inboxes::PollRequest;
use crate::watch::{silent_sources, waiting_inboxes};

/// Polls until `stop`. `posting` are the sources whose silence raises an alarm.
pub async fn run(
    deps: Arc<Deps>,
    polled: PolledSources,
    posting: Vec<SourceName>,
    stop: CancellationToken,
) {
    let tasks = TaskTracker::new();
    let mut requests = Vec::new();
    for source in polled.into_sources() {
        let awaited = Arc::new(Notify::new());
        requests.push(PollRequest {
            inboxes: source.inboxes.clone(),
            awaited: Arc::clone(&awaited),
        });
        tasks.spawn(source_loop(
            Arc::clone(&deps),
            source,
            awaited,
            stop.clone(),
        ));
    }
    if !requests.is_empty() {
        let watch = waiting_inboxes::watch(Arc::clone(&deps), requests, stop.clone());
        tasks.spawn(watch);
    }
    tasks.spawn(silent_sources::watch(deps, posting, stop));
    tasks.close();
    tasks.wait().await;
}
