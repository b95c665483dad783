//! Starts the tasks of the worker and poll roles.

use std::sync::Arc;

use anyhow::{Context, Result};
use poll::PolledSources;
use tokio::sync::{Notify, RwLock};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::supervise::Supervisor;
use crate::wire::{Parts, callbacks, dkim, fetcher, janitor, poll_deps, worker_settings};

/// Starts the processing loop, the sweeper, the janitor and the sender of callbacks.
pub(super) fn start_worker(
    parts: &Parts,
    stop: &CancellationToken,
    supervisor: &Supervisor,
) -> Result<Vec<JoinHandle<()>>> {
    let callback_due: Arc<Notify> = Arc::default();
    let callbacks = callbacks(parts, Arc::clone(&callback_due))?;
    let settings = worker_settings(&parts.config)?;
    let every = settings.sweep_every;
    let deps = Arc::new(worker::Deps {
        work: Arc::clone(&parts.store.work),
        deliveries: Arc::clone(&parts.store.deliveries),
        doorbell: Arc::clone(&parts.queue.doorbell),
        queue: Arc::clone(&parts.queue.probe),
        failures: Arc::clone(&parts.store.failures),
        sources: Arc::clone(&parts.sources),
        reading: RwLock::default(),
        parser_threads: worker::ParserThreads::default(),
        fetcher: fetcher(&parts.config)?,
        dkim: dkim(&parts.config)?,
        callback_due,
        server_key: parts.server_key.clone(),
        meters: parts.meters.clone(),
        settings,
    });
    let (janitor, callbacks) = (Arc::new(janitor(parts)), Arc::new(callbacks));
    let queue = parts.queue.clone();
    let (sweeping, stops) = (Arc::clone(&deps), [(); 4].map(|()| stop.clone()));
    let [stop_janitor, stop_worker, stop_sweeper, stop_callbacks] = stops;
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
    ])
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
