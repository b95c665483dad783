//! A TCP proxy on loopback, to stand between a client and its server and fail.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the proxy does with connections, old and new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Passes bytes both ways.
    Pass,
    /// Closes every connection, and every new one at once.
    Cut,
    /// Keeps connections open and passes nothing.
    Freeze,
}

/// Passes connections on to a server until it is told to fail them.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    mode: Arc<watch::Sender<Mode>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// A proxy in front of `server`, such as `127.0.0.1:5672`.
    pub async fn to(server: &str) -> Self {
        let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)).await else {
            panic!("no free port on loopback");
        };
        let Ok(address) = listener.local_addr() else {
            panic!("a listener without an address");
        };
        let (mode, _) = watch::channel(Mode::Pass);
        let mode = Arc::new(mode);
        let accepting = tokio::spawn(accept(listener, server.to_owned(), Arc::clone(&mode)));
        Self {
            address,
            mode,
            accepting,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection and accepts none that lives.
    pub fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
    }

    /// Keeps every connection open and passes nothing more; frozen connections
    /// stay frozen for good.
    pub fn freeze(&self) {
        self.mode.send_replace(Mode::Freeze);
    }

    /// Passes new connections again.
    pub fn heal(&self) {
        self.mode.send_replace(Mode::Pass);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn accept(listener: TcpListener, server: String, mode: Arc<watch::Sender<Mode>>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(carry(client, server.clone(), mode.subscribe()));
    }
}

async fn carry(mut client: TcpStream, server: String, mut mode: watch::Receiver<Mode>) {
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    if *mode.borrow_and_update() == Mode::Pass {
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            changed = mode.wait_for(|mode| *mode != Mode::Pass) => drop(changed),
        }
    }
    // Frozen: the sockets are held and nobody reads them, until they are cut.
    drop(mode.wait_for(|mode| *mode == Mode::Cut).await);
}
