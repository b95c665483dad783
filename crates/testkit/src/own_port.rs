//! A loopback port that belongs to one test from its start to its end.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::time::{Instant, sleep};

/// How long the last listener may stay open in a process that was just started.
const LAST_LISTENER: Duration = Duration::from_secs(30);

/// A port on which a test stops listening and listens again. Between the two, no other
/// program gets it: a bound socket that never listens holds it.
pub struct OwnPort {
    /// Where it is.
    pub address: SocketAddr,
    _holder: TcpSocket,
}

impl OwnPort {
    /// Takes a free port.
    pub fn take() -> Self {
        let holder = bound(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        Self {
            address: holder.local_addr().expect("an address"),
            _holder: holder,
        }
    }

    /// Listens on it; one listener at a time.
    ///
    /// A process that another test has forked has the last listener, too, until it executes
    /// its program. So the port may be in use for a moment after the listener was dropped.
    pub async fn listen(&self, backlog: u32) -> TcpListener {
        let deadline = Instant::now() + LAST_LISTENER;
        loop {
            let listener = bound(self.address).and_then(|socket| socket.listen(backlog));
            match listener {
                Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < deadline => {
                    sleep(Duration::from_millis(10)).await;
                }
                listener => return listener.expect("the port of this test"),
            }
        }
    }
}

/// Sockets share a port only if each of them allows it and none listens yet.
fn bound(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
