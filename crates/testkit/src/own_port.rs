//! A loopback port that belongs to one test from its start to its end.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

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
        let holder = bound(SocketAddr::from(([127, 0, 0, 1], 0)));
        Self {
            address: holder.local_addr().expect("an address"),
            _holder: holder,
        }
    }

    /// Listens on it; one listener at a time.
    pub fn listen(&self, backlog: u32) -> TcpListener {
        let socket = bound(self.address);
        socket.listen(backlog).expect("a listener")
    }
}

/// Sockets share a port only if each of them allows it and none listens yet.
fn bound(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("an option");
    socket.bind(address).expect("a free port");
    socket
}
