//! The HTTP server of every role.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::HttpService;
use actix_server::{Server, ServerBuilder};
use actix_service::{Service, ServiceFactoryExt, boxed, map_config};
use actix_web::App;
use actix_web::dev::{AppConfig, ServiceResponse};
use actix_web::http::ConnectionType;
use anyhow::{Context, Result};
use client::{Client, Connection};
use secrecy::SecretString;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use webhook::{Certificates, Committer, RefusedPosts};

use super::connections::Connections;
use super::request_body::{Routes, before_continue, serve};
use super::{Role, Roles};
use crate::certificates::CertificateClient;
use crate::ops::{self, SharedProbe};
use crate::supervise::Supervisor;
use crate::wire::{
    Parts, dead_mint_domain, desk, feed_policy, feed_settings, unnamed_warnings, webhook_settings,
};

/// How long a client may go on sending a body that was refused. Closing at once could
/// cut off the answer.
const LINGER: Duration = Duration::from_secs(1);

/// What becomes of posts.
pub(super) struct Posts<'a> {
    pub(super) committer: &'a Committer,
    pub(super) refused: &'a Arc<RefusedPosts>,
}

/// What the webhook's routes need.
fn hook_deps(parts: &Parts, posts: &Posts<'_>) -> Result<webhook::Deps> {
    let client = Arc::new(CertificateClient::default());
    Ok(webhook::Deps {
        sources: Arc::clone(&parts.sources),
        certificates: Arc::new(Certificates::new(client, Arc::clone(&parts.clock))),
        committer: posts.committer.clone(),
        refused: Arc::clone(posts.refused),
        quota: Arc::clone(&parts.quota),
        clock: Arc::clone(&parts.clock),
        meters: parts.meters.clone(),
        settings: webhook_settings(&parts.config)?,
    })
}

/// What the routes of every role need.
pub(super) fn ops_deps(parts: &Parts, roles: Roles, supervisor: &Supervisor) -> ops::Deps {
    ops::Deps {
        probes: vec![SharedProbe::over(&parts.store.probe)],
        queue: SharedProbe::over(&parts.queue.probe),
        supervisor: supervisor.clone(),
        quota: Arc::clone(&parts.quota),
        registry: Arc::clone(&parts.registry),
        hosts: parts.config.server.hosts.clone(),
        warnings: warnings(parts, roles),
    }
}

/// What an operator should change although the process works.
fn warnings(parts: &Parts, roles: Roles) -> Vec<String> {
    let mut warnings = Vec::new();
    if roles.has(Role::Webhook) {
        warnings.extend(unnamed_warnings(&parts.sources));
    }
    if roles.has(Role::Feed) {
        warnings.extend(dead_mint_domain(&parts.config, &parts.sources));
    }
    warnings
}

/// The HTTP server, bound but not running yet.
pub(super) struct Http {
    pub(super) server: Server,
    pub(super) address: SocketAddr,
    pub(super) connections: Connections,
}

/// Builds the HTTP server and binds its address.
pub(super) fn http(
    parts: &Parts,
    roles: Roles,
    posts: &Posts<'_>,
    supervisor: &Supervisor,
    ops: ops::Deps,
) -> Result<Http> {
    let config = &parts.config;
    let ops = ops::public_routes(ops);
    let hooks = if roles.has(Role::Webhook) {
        Some(webhook::routes(hook_deps(parts, posts)?))
    } else {
        None
    };
    let (connections, listeners) = Connections::bind(&config.server.listen)
        .map_err(|error| bind_error(error, &config.server.listen))?;
    let address = listeners.first().context("no address is bound")?;
    let address = TcpListener::local_addr(address)?;
    let agents = if roles.has(Role::Feed) {
        let deps = feed_deps(parts, supervisor.stop().clone())?;
        let guest = mcp::routes(own_client(address)?, config.server.hosts.clone());
        Some(feed::routes_and(deps, guest))
    } else {
        None
    };
    let (stop, activity) = (supervisor.stop().clone(), connections.activity());
    let routes = move || {
        let (stop, activity) = (stop.clone(), Arc::clone(&activity));
        let app = App::new().wrap_fn(move |request, service| {
            let busy = activity.begin();
            let (stop, answer) = (stop.clone(), service.call(request));
            async move {
                let answer = last_answer(answer.await?, &stop);
                drop(busy);
                Ok(answer)
            }
        });
        let mut app = app.configure(ops.clone());
        if let Some(hooks) = hooks.clone() {
            app = app.configure(hooks);
        }
        if let Some(agents) = agents.clone() {
            app = app.configure(agents).configure(mcp::documents);
        }
        let app = map_config(app, |()| AppConfig::default());
        boxed::factory(app.map_err(|error| error.error_response().into()))
    };
    let server = Server::build()
        .workers(threads(config.server.threads))
        .shutdown_timeout(config.server.drain.0.as_secs())
        .disable_signals();
    Ok(Http {
        server: listen(server, listeners, &connections, routes)?.run(),
        address,
        connections,
    })
}

/// Serves the routes on every socket.
fn listen(
    mut server: ServerBuilder,
    listeners: Vec<TcpListener>,
    connections: &Connections,
    routes: impl Fn() -> Routes + Clone + Send + 'static,
) -> Result<ServerBuilder> {
    for listener in listeners {
        let (routes, counter) = (routes.clone(), connections.counter());
        let stopping = server.graceful_shutdown_signal();
        server = server.listen("http", listener, move || {
            let (counter, stopping) = (counter.clone(), stopping.clone());
            HttpService::build()
                // An idle connection would delay a clean stop for as long as it lives.
                .keep_alive(Duration::from_secs(5))
                .client_request_timeout(Duration::from_secs(5))
                .client_disconnect_timeout(LINGER)
                // A client that hangs up ends its request: a wait frees its slot at once,
                // and a consume that is not committed yet is dropped.
                .h1_allow_half_closed(false)
                .graceful_shutdown_signal(move || {
                    let stopping = stopping.clone();
                    async move { stopping.notified().await }
                })
                .on_connect_ext(move |io: &TcpStream, extensions| counter(io, extensions))
                .expect(before_continue(routes()))
                .h1(serve(routes()))
                .tcp()
        })?;
    }
    Ok(server)
}

/// Closes the connection after an answer of a process that stops, so that the client
/// does not send its next request there.
fn last_answer(mut answer: ServiceResponse, stop: &CancellationToken) -> ServiceResponse {
    if stop.is_cancelled() {
        let head = answer.response_mut().head_mut();
        head.set_connection_type(ConnectionType::Close);
    }
    answer
}

/// The configured number of threads; 0 means one for each core.
fn threads(configured: usize) -> usize {
    if configured > 0 {
        return configured;
    }
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Says why the address cannot be bound, and what to do about it.
pub(super) fn bind_error(error: std::io::Error, listen: &str) -> anyhow::Error {
    if error.kind() != std::io::ErrorKind::AddrInUse {
        return anyhow::Error::new(error).context(format!("failed to listen on {listen}"));
    }
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    anyhow::anyhow!(
        "another process listens on {listen}; stop it, or choose another port with \
         --listen {host}:PORT (port 0 takes a free one: --listen {host}:0)"
    )
}

/// A client of the API that this process serves itself, without a key.
fn own_client(mut address: SocketAddr) -> Result<Client> {
    if address.ip().is_unspecified() {
        let loopback: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(loopback);
    }
    let url = format!("http://{address}").parse()?;
    let key = SecretString::default();
    Ok(Client::of_own_server(Connection { url, key })?)
}

/// What the feed's routes need.
fn feed_deps(parts: &Parts, shutdown: CancellationToken) -> Result<feed::Deps> {
    Ok(feed::Deps {
        log: Arc::clone(&parts.store.agents),
        inboxes: Arc::clone(&parts.store.inboxes),
        attempts: Arc::clone(&parts.store.attempts),
        audit: Arc::clone(&parts.store.audit),
        guards: Arc::clone(&parts.store.guards),
        sends: Arc::clone(&parts.store.sends),
        threads: Arc::clone(&parts.store.threads),
        desk: desk(parts),
        deliveries: Arc::clone(&parts.store.deliveries),
        keys: Arc::clone(&parts.keys),
        cursor_key: parts.server_key.clone(),
        meters: parts.meters.clone(),
        settings: feed_settings(&parts.config),
        policy: feed_policy(&parts.config, &parts.sources)?,
        shutdown,
    })
}
