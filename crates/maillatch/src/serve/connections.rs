//! The connections of a process that stops. None is cut: each gets a last answer and is
//! then closed, or it is refused from the start.
//!
//! Actix closes idle connections at once when its stop is called, even if a request is
//! being sent or lies unread in the socket. So stop is called only when no connection is idle,
//! or when no request has begun for a while.

use std::any::Any;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::dev::{Extensions, ServerHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// How long new connections are served after the stop, with an answer that closes them.
const LAST_CONNECTIONS: Duration = Duration::from_secs(1);
/// How long a busy thread may take until it serves an accepted connection.
const PICKED_UP: Duration = Duration::from_millis(250);
/// Idle connections are closed when no request has begun for this long.
const SILENCE: Duration = Duration::from_secs(1);
/// How long clients may go on sending requests after the last connection was accepted.
const LAST_REQUESTS: Duration = Duration::from_secs(5);
/// How long the TCP handshake of a late connection may take.
const CLOSING: Duration = Duration::from_millis(100);
/// How long a late client has to take its answer.
const LATE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(10);
const STOPPING: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
    Connection: close\r\nContent-Length: 0\r\n\r\n";

/// The sockets that a server listens on, and what happens on its connections.
pub(super) struct Connections {
    /// Further handles to the sockets. While they are open, the system cuts no connection
    /// that it has made and that the server has not accepted.
    listeners: Vec<TcpListener>,
    activity: Arc<Activity>,
}

/// What happens on the connections of a server.
#[derive(Default)]
pub(super) struct Activity {
    /// Connections.
    open: AtomicUsize,
    /// Requests in progress.
    busy: AtomicUsize,
    /// Connections and requests since the start.
    begun: AtomicUsize,
}

/// Counts a connection until it ends.
struct Open(Arc<Activity>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a request until it has its answer.
pub(super) struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Activity {
    /// Counts a request that begins.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// How many connections have no request in progress.
    fn idle(&self) -> usize {
        let open = self.open.load(Ordering::Relaxed);
        open.saturating_sub(self.busy.load(Ordering::Relaxed))
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
            activity: Arc::default(),
        };
        Ok((connections, bound))
    }

    /// What counts the requests.
    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    /// What the server calls for each new connection.
    pub(super) fn counter(
        &self,
    ) -> impl Fn(&dyn Any, &mut Extensions) + Clone + Send + Sync + use<> {
        let activity = self.activity();
        move |_, extensions| {
            activity.begun.fetch_add(1, Ordering::Relaxed);
            activity.open.fetch_add(1, Ordering::Relaxed);
            extensions.insert(Open(Arc::clone(&activity)));
        }
    }

    /// Stops `server` when every client has its last answer. New connections are served
    /// for a while, then turned away, then refused.
    pub(super) async fn stop(self, server: &ServerHandle) {
        let served_until = Instant::now() + LAST_CONNECTIONS;
        while self.activity.open.load(Ordering::Relaxed) > 0 && Instant::now() < served_until {
            sleep(STEP).await;
        }
        server.pause().await;
        let closing = CancellationToken::new();
        let mut turned_away = JoinSet::new();
        for listener in self.listeners {
            turned_away.spawn(turn_all_away(listener, closing.clone()));
        }
        until_idle(&self.activity).await;
        closing.cancel();
        tokio::join!(server.stop(true), turned_away.join_all());
    }
}

/// Waits until no client is about to send a request: every connection has one in
/// progress, or nothing has begun for a while.
async fn until_idle(activity: &Activity) {
    let start = Instant::now();
    let (mut seen, mut silent_since) = (0, start);
    while start.elapsed() < LAST_REQUESTS {
        let begun = activity.begun.load(Ordering::Relaxed);
        if begun != seen {
            (seen, silent_since) = (begun, Instant::now());
        }
        let is_idle = activity.idle() == 0 || silent_since.elapsed() >= SILENCE;
        // A connection that was accepted last is counted when a thread begins with it.
        if is_idle && start.elapsed() >= PICKED_UP {
            return;
        }
        sleep(STEP).await;
    }
}

/// Answers the connections that the server does not accept, until further ones are
/// refused.
async fn turn_all_away(listener: TcpListener, closing: CancellationToken) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut late = JoinSet::new();
    while let Some(accepted) = closing.run_until_cancelled(listener.accept()).await {
        late.spawn(timeout(LATE, turn_away(accepted?.0)));
    }
    refuse_new(&listener);
    let closed = Instant::now() + CLOSING;
    while let Ok(Ok((connection, _))) = timeout_at(closed, listener.accept()).await {
        late.spawn(timeout(LATE, turn_away(connection)));
    }
    drop(listener);
    late.join_all().await;
    Ok(())
}

/// Makes the kernel ignore new connections (SYN packets). Without this it would accept a
/// connection after the last `accept` and then reset it when the socket closes. The client
/// repeats its SYN a second later and is refused.
#[cfg(target_os = "linux")]
fn refuse_new(listener: &tokio::net::TcpListener) {
    // Byte 13 of a TCP header has the flags: SYN without ACK requests a connection.
    let filter = [
        socket2::SockFilter::new(0x30, 0, 0, 13),
        socket2::SockFilter::new(0x54, 0, 0, 0x12),
        socket2::SockFilter::new(0x15, 0, 1, 0x02),
        socket2::SockFilter::new(0x06, 0, 0, 0),
        socket2::SockFilter::new(0x06, 0, 0, u32::MAX),
    ];
    if let Err(error) = socket2::SockRef::from(listener).attach_filter(&filter) {
        tracing::debug!(%error, "cannot ignore new connections; a late one may be cut");
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_new(_: &tokio::net::TcpListener) {}

/// Answers that the process stops. The request is read to its end: otherwise the kernel
/// would reset the connection before the client has read the answer.
async fn turn_away(mut connection: TcpStream) -> std::io::Result<()> {
    connection.write_all(STOPPING).await?;
    connection.shutdown().await?;
    let mut rest = [0; 4096];
    while connection.read(&mut rest).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests;
