//! Serving: starts the roles and stops them in order.

mod connections;
mod http;
mod ops_listener;
mod request_body;
mod work;

use std::net::SocketAddr;
use std::sync::Arc;

use actix_web::dev::ServerHandle;
use anyhow::Result;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use webhook::{Committer, RefusedPosts};

use crate::log_limit;
use crate::shutdown::StopSignals;
use crate::supervise::Supervisor;
use crate::wire::{Parts, webhook_settings};

use connections::Connections;
use http::{Http, Posts, http, ops_deps};
use ops_listener::OpsListener;
use work::{report_refused, start_measuring, start_poller, start_sending, start_worker};

/// A role that a process can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Webhook,
    Worker,
    Feed,
    Poll,
    Send,
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
    pub(crate) const SEND: Self = Self::of("send", &[Role::Send]);

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
    connections: Connections,
    ops: Option<OpsListener>,
    committer: Committer,
    workers: Vec<JoinHandle<()>>,
}

impl Serving {
    /// Starts the roles; when this returns they accept requests.
    pub(crate) fn start(parts: Parts, roles: Roles) -> Result<Self> {
        let stop = CancellationToken::new();
        let supervisor = Supervisor::new(parts.meters.tasks.clone(), stop.clone());
        let settings = webhook_settings(&parts.config)?;
        let committer = Committer::start(
            Arc::clone(&parts.store.deliveries),
            Arc::clone(&parts.queue.doorbell),
            parts.meters.clone(),
            &settings,
        );
        let mut workers = Vec::new();
        let reporting = stop.clone();
        workers.push(supervisor.spawn("log limit", move || {
            log_limit::report_dropped(reporting.clone())
        }));
        if roles.has(Role::Webhook) || roles.has(Role::Poll) {
            workers.push(start_measuring(&parts, &stop, &supervisor));
        }
        if roles.has(Role::Worker) {
            workers.extend(start_worker(&parts, &stop, &supervisor)?);
        }
        if roles.has(Role::Poll) {
            workers.push(start_poller(&parts, &stop)?);
        }
        let sends_too = roles.has(Role::Worker) && parts.config.send.in_worker;
        if roles.has(Role::Send) || sends_too {
            workers.extend(start_sending(&parts, &stop, &supervisor));
        }
        let refused = Arc::<RefusedPosts>::default();
        if roles.has(Role::Webhook) {
            workers.push(report_refused(&parts, &refused, &stop, &supervisor));
        }
        let posts = Posts {
            committer: &committer,
            refused: &refused,
        };
        let ops = ops_deps(&parts, roles, &supervisor);
        let Http {
            server,
            address,
            connections,
        } = http(&parts, roles, &posts, &supervisor, ops.clone())?;
        let http = server.handle();
        let ops = OpsListener::start(&parts.config.server, ops)?;
        Ok(Self {
            http,
            ops,
            http_task: tokio::spawn(server),
            connections,
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

    /// The address of the operators' listener, if it has one.
    pub(crate) fn ops_address(&self) -> Option<SocketAddr> {
        self.ops.as_ref().map(|ops| ops.address)
    }

    /// Serves until the process is asked to stop, then stops in order: refuse new
    /// requests, answer waits, commit posts, finish work, close the database.
    pub(crate) async fn until_stopped(self, mut signals: StopSignals) -> Result<()> {
        signals.next().await;
        tracing::info!("stopping: finishing requests and work in progress");
        let drain = self.parts.config.server.drain.0;
        let drained = tokio::time::timeout(drain, self.stop());
        tokio::select! {
            outcome = drained => match outcome {
                Ok(()) => tracing::info!("stopped"),
                Err(_elapsed) => tracing::warn!("stopped with unfinished work; the database keeps it, and it is retried"),
            },
            _ = signals.next() => tracing::warn!("second signal: stopping at once"),
        }
        Ok(())
    }

    async fn stop(self) {
        self.stop.cancel();
        // Clients that keep their connection learn with the next answer that it closes.
        self.connections.stop(&self.http).await;
        let _ = self.http_task.await;
        self.committer.finish().await;
        for worker in self.workers {
            let _ = worker.await;
        }
        if let Some(ops) = self.ops {
            ops.stop().await;
        }
        self.parts.queue.close().await;
        self.parts.store.close().await;
    }
}
