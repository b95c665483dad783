//! The operators' listener: metrics, and what is wrong with each part.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use anyhow::Result;
use tokio::task::JoinHandle;

use super::http::bind_error;
use crate::config::Server;
use crate::ops;

/// A scraper or a person asks now and then.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// The operators' listener of a process.
pub(super) struct OpsListener {
    pub(super) address: SocketAddr,
    server: ServerHandle,
    task: JoinHandle<std::io::Result<()>>,
}

impl OpsListener {
    /// Serves on `server.ops_listen`. Without that setting it serves on a port of this
    /// machine that follows from `server.listen`; if another process has that port, this
    /// one works without the listener.
    pub(super) fn start(config: &Server, deps: ops::Deps) -> Result<Option<Self>> {
        let listen = config.ops_listen();
        let listener = match TcpListener::bind(&listen) {
            Ok(listener) => listener,
            Err(error) if config.has_ops_listen() => return Err(bind_error(error, &listen)),
            Err(error) => {
                tracing::warn!(
                    %error,
                    address = listen,
                    "metrics are not served, because the address is taken; set server.ops_listen"
                );
                return Ok(None);
            }
        };
        let address = listener.local_addr()?;
        let routes = ops::routes(deps);
        let server = HttpServer::new(move || App::new().configure(routes.clone()))
            .workers(1)
            .keep_alive(KEEP_ALIVE)
            .client_request_timeout(KEEP_ALIVE)
            .disable_signals()
            .listen(listener)?
            .run();
        Ok(Some(Self {
            address,
            server: server.handle(),
            task: tokio::spawn(server),
        }))
    }

    /// Stops at once: a scraper asks again.
    pub(super) async fn stop(self) {
        self.server.stop(false).await;
        let _ = self.task.await;
    }
}
