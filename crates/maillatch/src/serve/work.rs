//! Starts the tasks of the roles.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use pipeline::{Meters, RetentionLog, StorageQuota};
use poll::PolledSources;
use tokio::sync::{Notify, RwLock};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use webhook::RefusedPosts;

use crate::supervise::Supervisor;
use crate::wire::{
    Parts, callbacks, dkim, fetcher, janitor, poll_deps, reply_settings, sending, worker_settings,
};

/// How often unfinished mail is measured.
const MEASURE_EVERY: Duration = Duration::from_secs(2);
/// A measurement and its pause are shorter.
const MEASURED_WITHIN: Duration = Duration::from_mins(15);

/// Starts the task that measures unfinished mail, for roles that record mail.
pub(super) fn start_measuring(
    parts: &Parts,
    stop: &CancellationToken,
    supervisor: &Supervisor,
) -> JoinHandle<()> {
    let (retention, stop) = (Arc::clone(&parts.store.retention), stop.clone());
    let (quota, meters) = (Arc::clone(&parts.quota), parts.meters.clone());
    supervisor.spawn("storage", move || {
        let (retention, quota, meters) = (Arc::clone(&retention), Arc::clone(&quota), &meters);
        let (meters, stop) = (meters.clone(), stop.clone());
        async move {
            let measuring = measure_unfinished(&*retention, &quota, &meters);
            stop.run_until_cancelled(measuring).await;
        }
    })
}

/// Measures with pauses of at least twenty times as long as a measurement takes. While the
/// database is unavailable the last figure stays; nothing can be recorded then anyway.
async fn measure_unfinished(retention: &dyn RetentionLog, quota: &StorageQuota, meters: &Meters) {
    loop {
        meters.tasks.round("storage", MEASURED_WITHIN);
        let begun = Instant::now();
        if let Ok(measured) = retention.unfinished_bytes().await {
            quota.set_unfinished(measured);
            meters.set_stored("unfinished", quota.unfinished());
        }
        sleep(MEASURE_EVERY.max(begun.elapsed() * 20)).await;
    }
}

/// Starts the processing loop, the sweeper, the janitor and the sender of callbacks.
pub(super) fn start_worker(
    parts: &Parts,
    stop: &CancellationToken,
    supervisor: &Supervisor,
) -> Result<Vec<JoinHandle<()>>> {
    let callback_due: Arc<Notify> = Arc::default();
    let callbacks = callbacks(parts, Arc::clone(&callback_due))?;
    let settings = worker::Settings {
        replies: reply_settings(parts),
        ..worker_settings(&parts.config)?
    };
    let every = settings.sweep_every;
    let deps = Arc::new(worker::Deps {
        work: Arc::clone(&parts.store.work),
        echoes: Arc::clone(&parts.store.echoes),
        deliveries: Arc::clone(&parts.store.deliveries),
        doorbell: Arc::clone(&parts.queue.doorbell),
        queue: Arc::clone(&parts.queue.probe),
        failures: Arc::clone(&parts.store.failures),
        sources: Arc::clone(&parts.sources),
        reading: RwLock::default(),
        parser_threads: worker::ParserThreads::default(),
        fetcher: fetcher(&parts.config),
        dkim: dkim(&parts.config)?,
        callback_due,
        server_key: parts.server_key.clone(),
        meters: parts.meters.clone(),
        settings,
    });
    let (janitor, callbacks) = (Arc::new(janitor(parts)), Arc::new(callbacks));
    let queue = parts.queue.clone();
    let (sweeping, stops) = (Arc::clone(&deps), [(); 5].map(|()| stop.clone()));
    let [
        stop_janitor,
        stop_worker,
        stop_sweeper,
        stop_callbacks,
        stop_handovers,
    ] = stops;
    let (threads, handovers) = (Arc::clone(&parts.store.threads), Arc::clone(&callbacks));
    Ok(vec![
        supervisor.spawn("janitor", move || {
            let (janitor, stop) = (Arc::clone(&janitor), stop_janitor.clone());
            async move { janitor.run(stop).await }
        }),
        supervisor.spawn("worker", move || {
            worker::run(Arc::clone(&deps), queue.bell(), stop_worker.clone())
        }),
        supervisor.spawn("sweeper", move || {
            let (deps, stop) = (Arc::clone(&sweeping), stop_sweeper.clone());
            async move { worker::sweep_forever(&deps, stop).await }
        }),
        supervisor.spawn("callbacks", move || {
            let (callbacks, stop) = (Arc::clone(&callbacks), stop_callbacks.clone());
            async move { callbacks.run(every, stop).await }
        }),
        supervisor.spawn("handovers", move || {
            let (callbacks, threads) = (Arc::clone(&handovers), Arc::clone(&threads));
            let stop = stop_handovers.clone();
            async move { callbacks.run_handovers(threads, every, stop).await }
        }),
    ])
}

/// Starts the task that hands mail to providers, if there is a sender.
pub(super) fn start_sending(
    parts: &Parts,
    stop: &CancellationToken,
    supervisor: &Supervisor,
) -> Option<JoinHandle<()>> {
    if parts.senders.is_empty() {
        return None;
    }
    let (sending, stop) = (sending(parts), stop.clone());
    Some(supervisor.spawn("sending", move || send::run(sending.clone(), stop.clone())))
}

/// Starts the task that writes down the counts of refused posts.
pub(super) fn report_refused(
    parts: &Parts,
    refused: &Arc<RefusedPosts>,
    stop: &CancellationToken,
    supervisor: &Supervisor,
) -> JoinHandle<()> {
    let (refused, stop) = (Arc::clone(refused), stop.clone());
    let log = Arc::clone(&parts.store.refusals);
    supervisor.spawn("refused posts", move || {
        Arc::clone(&refused).report(Arc::clone(&log), stop.clone())
    })
}

/// Starts the poller, which also reports sources that have gone silent.
pub(super) fn start_poller(parts: &Parts, stop: &CancellationToken) -> Result<JoinHandle<()>> {
    let deps = Arc::new(poll_deps(parts)?);
    let configured = &parts.config.source;
    let polled = PolledSources::build(configured, &parts.sources, &deps.settings)
        .context("a source cannot be polled")?;
    let posting = parts.sources.iter().filter(|source| source.posts());
    let posting = posting.map(|source| source.name().clone()).collect();
    Ok(tokio::spawn(poll::run(deps, polled, posting, stop.clone())))
}
