//! The connections of a process that stops. None is cut: each gets an answer that closes
//! it, or is refused before it is made.

use std::any::Any;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::dev::{Extensions, ServerHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// How long a client that keeps its connection has for the request whose answer closes
/// it. A connection that is idle for longer is closed without one.
const LAST_REQUESTS: Duration = Duration::from_secs(1);
/// How long a busy thread needs to begin with a connection.
const PICKED_UP: Duration = Duration::from_millis(200);
/// How long the server needs to close its own sockets.
const CLOSING: Duration = Duration::from_millis(50);
/// How long a late client has to take its answer.
const LATE: Duration = Duration::from_secs(1);
const STOPPING: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
    Connection: close\r\nContent-Length: 0\r\n\r\n";

/// The sockets that a server listens on, and how many connections it has.
pub(super) struct Connections {
    /// Further handles to the sockets. While they are open, the system cuts no connection
    /// that it has made and that the server has not accepted.
    listeners: Vec<TcpListener>,
    open: Arc<AtomicUsize>,
}

/// Counts a connection until it ends.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connections {
    /// Listens on every address of `listen`; returns the sockets for the server, too.
    pub(super) fn bind(listen: &str) -> std::io::Result<(Self, Vec<TcpListener>)> {
        let bound = listen.to_socket_addrs()?.map(TcpListener::bind);
        let bound: Vec<TcpListener> = bound.collect::<Result<_, _>>()?;
        let listeners = bound.iter().map(TcpListener::try_clone);
        let connections = Self {
            listeners: listeners.collect::<Result<_, _>>()?,
            open: Arc::default(),
        };
        Ok((connections, bound))
    }

    /// What the server calls for each new connection.
    pub(super) fn counter(&self) -> impl Fn(&dyn Any, &mut Extensions) + Send + Sync + 'static {
        let open = Arc::clone(&self.open);
        move |_, extensions| {
            open.fetch_add(1, Ordering::Relaxed);
            extensions.insert(Open(Arc::clone(&open)));
        }
    }

    /// Waits until every client has its last answer. New connections are served for a
    /// while, then `server` accepts no more, and those that it has are finished.
    pub(super) async fn until_answered(&self, server: &ServerHandle) {
        if self.until_none(LAST_REQUESTS).await {
            return;
        }
        server.pause().await;
        // A connection that was accepted last is counted when a thread begins with it.
        sleep(PICKED_UP).await;
        // Requests in progress are finished later, too: this is for connections that
        // have none yet.
        self.until_none(PICKED_UP).await;
    }

    /// Waits until no connection is open; false when some stay open.
    async fn until_none(&self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        while self.open.load(Ordering::Relaxed) > 0 {
            if Instant::now() > until {
                return false;
            }
            sleep(Duration::from_millis(10)).await;
        }
        true
    }

    /// Answers the connections that the server did not accept, and refuses further ones.
    pub(super) async fn close(self) {
        sleep(CLOSING).await;
        let mut late = JoinSet::new();
        for listener in self.listeners {
            if listener.set_nonblocking(true).is_err() {
                continue;
            }
            while let Ok((connection, _)) = listener.accept() {
                late.spawn(timeout(LATE, turn_away(connection)));
            }
        }
        late.join_all().await;
    }
}

/// Says that the process stops. Reading to the end keeps the system from cutting the
/// connection before the client has read the answer.
async fn turn_away(connection: std::net::TcpStream) -> std::io::Result<()> {
    connection.set_nonblocking(true)?;
    let mut connection = TcpStream::from_std(connection)?;
    connection.write_all(STOPPING).await?;
    connection.shutdown().await?;
    let mut rest = [0; 4096];
    while connection.read(&mut rest).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connection_that_was_not_accepted_gets_503_and_the_next_is_refused() {
        let (connections, bound) = Connections::bind("127.0.0.1:0").unwrap();
        let address = bound[0].local_addr().unwrap();
        let mut waiting = TcpStream::connect(address).await.unwrap();
        let request = b"POST /hooks/dev HTTP/1.1\r\nContent-Length: 4\r\n\r\nmail";
        waiting.write_all(request).await.unwrap();
        // The server is gone.
        drop(bound);
        let closing = tokio::spawn(connections.close());
        let mut answer = Vec::new();
        waiting.read_to_end(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 503 "), "{answer:?}");
        drop(waiting);
        closing.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
