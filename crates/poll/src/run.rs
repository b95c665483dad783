//! All sources at once, each in a task of its own.

use std::sync::Arc;

use pipeline::{Clock, Doorbell, PollLog, PollerId, SilenceLog, SourceName};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::contract::Pulls;
use crate::meters::Meters;
use crate::settings::Settings;
use crate::tend::tend;
use crate::{silence, waiting};

/// What the poller works with.
pub struct Deps {
    /// Leases, cursors and what was found.
    pub polls: Arc<dyn PollLog>,
    /// What is heard of sources.
    pub silence: Arc<dyn SilenceLog>,
    /// Rings for what was found.
    pub doorbell: Arc<dyn Doorbell>,
    /// For sources that tell no time.
    pub clock: Arc<dyn Clock>,
    /// Which poller this is.
    pub poller: PollerId,
    /// What is counted.
    pub meters: Meters,
    /// What an operator may set.
    pub settings: Settings,
}

/// Polls until `stop`. `posting` are the sources whose silence is noticed.
pub async fn run(deps: Arc<Deps>, pulls: Pulls, posting: Vec<SourceName>, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let mut nudges = Vec::new();
    for pulled in pulls.into_sources() {
        let nudge = Arc::new(Notify::new());
        nudges.push((pulled.carried.clone(), Arc::clone(&nudge)));
        tasks.spawn(tend(Arc::clone(&deps), pulled, nudge, stop.clone()));
    }
    if !nudges.is_empty() {
        tasks.spawn(waiting::watch(Arc::clone(&deps), nudges, stop.clone()));
    }
    tasks.spawn(silence::watch(deps, posting, stop));
    tasks.close();
    tasks.wait().await;
}
