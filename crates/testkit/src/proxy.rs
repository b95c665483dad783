//! A TCP proxy on loopback that can fail between a client and its server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

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

/// Forwards connections to a server until a test makes it fail.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    mode: Arc<watch::Sender<Mode>>,
    handshakes: Arc<Handshakes>,
    accepting: JoinHandle<()>,
}

/// Counts TLS handshakes.
#[derive(Debug, Default)]
struct Handshakes {
    completed: AtomicUsize,
    aborted: AtomicUsize,
}

impl Proxy {
    /// A proxy in front of `server`, such as `127.0.0.1:5672`.
    pub async fn to(server: &str) -> Self {
        Self::start(server, None).await
    }

    /// A proxy that uses TLS towards its clients and plain TCP towards `server`, and its
    /// certificate for `localhost` in PEM.
    pub async fn with_tls(server: &str) -> (Self, String) {
        let Ok(CertifiedKey { cert, signing_key }) =
            generate_simple_self_signed(vec!["localhost".to_owned()])
        else {
            panic!("no certificate can be made");
        };
        let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                let config = config.with_no_client_auth();
                config.with_single_cert(vec![cert.der().clone()], key)
            });
        let Ok(config) = config else {
            panic!("the certificate cannot be shown");
        };
        let tls = TlsAcceptor::from(Arc::new(config));
        (Self::start(server, Some(tls)).await, cert.pem())
    }

    async fn start(server: &str, tls: Option<TlsAcceptor>) -> Self {
        let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)).await else {
            panic!("no free port on loopback");
        };
        let Ok(address) = listener.local_addr() else {
            panic!("a listener without an address");
        };
        let (mode, _) = watch::channel(Mode::Pass);
        let mode = Arc::new(mode);
        let handshakes = Arc::<Handshakes>::default();
        let acceptor = Acceptor {
            tls,
            server: server.to_owned(),
            mode: Arc::clone(&mode),
            handshakes: Arc::clone(&handshakes),
        };
        let accepting = tokio::spawn(acceptor.accept(listener));
        Self {
            address,
            mode,
            handshakes,
            accepting,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections completed the TLS handshake.
    pub fn completed_handshakes(&self) -> usize {
        self.handshakes.completed.load(Ordering::SeqCst)
    }

    /// How many clients aborted the TLS handshake.
    pub fn aborted_handshakes(&self) -> usize {
        self.handshakes.aborted.load(Ordering::SeqCst)
    }

    /// Closes every connection, also every new one.
    pub fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
    }

    /// Keeps every connection open and forwards nothing more. A frozen connection stays
    /// frozen.
    pub fn freeze(&self) {
        self.mode.send_replace(Mode::Freeze);
    }

    /// Forwards new connections again.
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

/// Accepts connections and forwards them.
#[derive(Clone)]
struct Acceptor {
    tls: Option<TlsAcceptor>,
    server: String,
    mode: Arc<watch::Sender<Mode>>,
    handshakes: Arc<Handshakes>,
}

impl Acceptor {
    async fn accept(self, listener: TcpListener) {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(self.clone().greet(client));
        }
    }

    async fn greet(self, client: TcpStream) {
        let mode = self.mode.subscribe();
        let Some(tls) = self.tls else {
            return carry(client, self.server, mode).await;
        };
        let Ok(client) = tls.accept(client).await else {
            self.handshakes.aborted.fetch_add(1, Ordering::SeqCst);
            return;
        };
        self.handshakes.completed.fetch_add(1, Ordering::SeqCst);
        carry(client, self.server, mode).await;
    }
}

async fn carry(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    server: String,
    mut mode: watch::Receiver<Mode>,
) {
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    if *mode.borrow_and_update() == Mode::Pass {
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            changed = mode.wait_for(|mode| *mode != Mode::Pass) => drop(changed),
        }
    }
    // Frozen: the sockets stay open and nobody reads them, until they are cut.
    drop(mode.wait_for(|mode| *mode == Mode::Cut).await);
}
