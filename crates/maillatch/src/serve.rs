//! Serving: starts the roles and stops them in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::{App, HttpServer};
use anyhow::{Context, Result};
use poll::Pulls;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use webhook::{Certificates, Committer};

use crate::certificates::CertificateClient;
use crate::wire::{
    Parts, callbacks, cautions, dkim, feed_policy, feed_settings, fetcher, janitor, poll_deps,
    webhook_settings, worker_settings,
};
use crate::{ops, shutdown};

/// A role that a process can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Webhook,
    Worker,
    Feed,
    Poll,
}

/// The roles of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roles {
    pub(crate) name: &'static str,
    roles: &'static [Role],
}

impl Roles {
    pub(crate) const ALL: Self =
        Self::of("up", &[Role::Webhook, Role::Worker, Role::Feed, Role::Poll]);
    pub(crate) const WEBHOOK: Self = Self::of("webhook", &[Role::Webhook]);
    pub(crate) const WORKER: Self = Self::of("worker", &[Role::Worker]);
    pub(crate) const FEED: Self = Self::of("feed", &[Role::Feed]);
    pub(crate) const POLL: Self = Self::of("poll", &[Role::Poll]);

    const fn of(name: &'static str, roles: &'static [Role]) -> Self {
        Self { name, roles }
    }

    /// Whether this process has a role.
    pub(crate) fn has(self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether this process has one role and others have the rest.
    pub(crate) fn is_separate(self) -> bool {
        self.roles.len() == 1
    }
}

/// A process that serves.
pub(crate) struct Serving {
    parts: Parts,
    address: SocketAddr,
    stop: CancellationToken,
    http: ServerHandle,
    http_task: JoinHandle<std::io::Result<()>>,
    committer: Committer,
    workers: Vec<JoinHandle<()>>,
}

impl Serving {
    /// Starts the roles; when this returns they accept requests.
    pub(crate) fn start(parts: Parts, roles: Roles) -> Result<Self> {
        let stop = CancellationToken::new();
        let settings = webhook_settings(&parts.config)?;
        let committer = Committer::start(
            Arc::clone(&parts.store.deliveries),
            Arc::clone(&parts.queue.doorbell),
            parts.meters.clone(),
            &settings,
        );
        let mut workers = Vec::new();
        if roles.has(Role::Worker) {
            workers.extend(start_worker(&parts, &stop)?);
        }
        if roles.has(Role::Poll) {
            workers.push(start_poller(&parts, &stop)?);
        }
        let (server, address) = http(&parts, roles, &committer, &stop)?;
        let http = server.handle();
        Ok(Self {
            http,
            http_task: tokio::spawn(server),
            parts,
            address,
            stop,
            committer,
            workers,
        })
    }

    /// The address that HTTP is served on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process is asked to stop, then stops in order: refuse new
    /// requests, answer waits, commit posts, finish work, close the database.
    pub(crate) async fn until_stopped(self) -> Result<()> {
        shutdown::requested().await;
        tracing::info!("stopping: finishing requests and work in progress");
        let drain = self.parts.config.server.drain.0;
        let drained = tokio::time::timeout(drain, self.stop());
        tokio::select! {
            outcome = drained => match outcome {
                Ok(()) => tracing::info!("stopped"),
                Err(_elapsed) => tracing::warn!("stopped with work unfinished; it is retried from its rows"),
            },
            _ = shutdown::requested() => tracing::warn!("second signal: stopping at once"),
        }
        Ok(())
    }

    async fn stop(self) {
        self.stop.cancel();
        self.http.stop(true).await;
        let _ = self.http_task.await;
        self.committer.finish().await;
        for worker in self.workers {
            let _ = worker.await;
        }
        self.parts.queue.close().await;
        self.parts.store.close().await;
    }
}

/// Starts the processing loop, the sweeper, the janitor and the sender of callbacks.
fn start_worker(parts: &Parts, stop: &CancellationToken) -> Result<Vec<JoinHandle<()>>> {
    let callback_due: Arc<Notify> = Arc::default();
    let callbacks = callbacks(parts, Arc::clone(&callback_due))?;
    let settings = worker_settings(&parts.config)?;
    let (every, stop_telling) = (settings.sweep_every, stop.clone());
    let deps = Arc::new(worker::Deps {
        work: Arc::clone(&parts.store.work),
        deliveries: Arc::clone(&parts.store.deliveries),
        doorbell: Arc::clone(&parts.queue.doorbell),
        sources: Arc::clone(&parts.sources),
        fetcher: fetcher(&parts.config)?,
        dkim: dkim(&parts.config)?,
        callback_due,
        server_key: parts.server_key.clone(),
        meters: parts.meters.clone(),
        settings,
    });
    let sweeper = Arc::clone(&deps);
    let stop_sweeping = stop.clone();
    Ok(vec![
        tokio::spawn(janitor(parts).run(stop.clone())),
        tokio::spawn(worker::run(deps, parts.queue.bell(), stop.clone())),
        tokio::spawn(async move { worker::sweep_forever(&sweeper, stop_sweeping).await }),
        tokio::spawn(async move { callbacks.run(every, stop_telling).await }),
    ])
}

/// Starts the poller, which also reports sources that have gone silent.
fn start_poller(parts: &Parts, stop: &CancellationToken) -> Result<JoinHandle<()>> {
    let deps = Arc::new(poll_deps(parts)?);
    let configured = &parts.config.source;
    let pulls = Pulls::build(configured, &parts.sources, &deps.settings)
        .context("a source cannot be polled")?;
    let posting = parts.sources.iter().filter(|source| source.posts());
    let posting = posting.map(|source| source.name().clone()).collect();
    Ok(tokio::spawn(poll::run(deps, pulls, posting, stop.clone())))
}

/// What the webhook's routes need.
fn hook_deps(parts: &Parts, committer: &Committer) -> Result<webhook::Deps> {
    let client = Arc::new(CertificateClient::new()?);
    Ok(webhook::Deps {
        sources: Arc::clone(&parts.sources),
        certificates: Arc::new(Certificates::new(client, Arc::clone(&parts.clock))),
        committer: committer.clone(),
        clock: Arc::clone(&parts.clock),
        meters: parts.meters.clone(),
        settings: webhook_settings(&parts.config)?,
    })
}

/// The HTTP server, bound but not running yet.
fn http(
    parts: &Parts,
    roles: Roles,
    committer: &Committer,
    stop: &CancellationToken,
) -> Result<(Server, SocketAddr)> {
    let config = &parts.config;
    let ops = ops::routes(ops::Deps {
        probes: vec![
            Arc::clone(&parts.store.probe),
            Arc::clone(&parts.queue.probe),
        ],
        registry: Arc::clone(&parts.registry),
        warnings: if roles.has(Role::Webhook) {
            cautions(&parts.sources)
        } else {
            Vec::new()
        },
    });
    let hooks = if roles.has(Role::Webhook) {
        Some(webhook::routes(hook_deps(parts, committer)?))
    } else {
        None
    };
    let agents = if roles.has(Role::Feed) {
        Some(feed::routes(feed_deps(parts, stop.clone())?))
    } else {
        None
    };
    let server = HttpServer::new(move || {
        let mut app = App::new().configure(ops.clone());
        if let Some(hooks) = hooks.clone() {
            app = app.configure(hooks);
        }
        if let Some(agents) = agents.clone() {
            app = app.configure(agents);
        }
        app
    });
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let threads = if config.server.threads == 0 {
        cores
    } else {
        config.server.threads
    };
    let server = server
        .workers(threads)
        // An idle connection would delay a clean stop for as long as it lives.
        .keep_alive(Duration::from_secs(5))
        .client_request_timeout(Duration::from_secs(5))
        .shutdown_timeout(config.server.drain.0.as_secs())
        .disable_signals()
        .bind(&config.server.listen)
        .map_err(|error| bind_error(error, &config.server.listen))?;
    let address = server
        .addrs()
        .first()
        .copied()
        .context("no address is bound")?;
    Ok((server.run(), address))
}

/// Says why the address cannot be bound, and what to do about it.
fn bind_error(error: std::io::Error, listen: &str) -> anyhow::Error {
    if error.kind() != std::io::ErrorKind::AddrInUse {
        return anyhow::Error::new(error).context(format!("failed to listen on {listen}"));
    }
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    anyhow::anyhow!(
        "another process listens on {listen}; stop it, or choose another port with \
         --listen {host}:PORT (port 0 takes a free one: --listen {host}:0)"
    )
}

/// What the feed's routes need.
fn feed_deps(parts: &Parts, shutdown: CancellationToken) -> Result<feed::Deps> {
    Ok(feed::Deps {
        log: Arc::clone(&parts.store.agents),
        inboxes: Arc::clone(&parts.store.inboxes),
        attempts: Arc::clone(&parts.store.attempts),
        deliveries: Arc::clone(&parts.store.deliveries),
        keys: Arc::clone(&parts.keys),
        cursor_key: parts.server_key.clone(),
        meters: parts.meters.clone(),
        settings: feed_settings(&parts.config),
        policy: feed_policy(&parts.config)?,
        shutdown,
    })
}
