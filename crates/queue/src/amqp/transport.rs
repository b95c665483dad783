//! The transport of a connection: plain TCP, or TLS for `amqps`.
//!
//! lapin's own TLS support would add thirty crates for PKCS#12 key stores. Instead the
//! workspace's rustls is plugged in where lapin accepts a custom transport.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_rs::traits::Reactor;
use async_rs::util::RuntimeParts;
use async_rs::{Runtime, Tokio};
use futures_util::Stream;
use futures_util::io::{AsyncRead, AsyncWrite};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{AsyncTcpStream, Connection, ConnectionProperties};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

use super::CONNECT_DEADLINE;
use super::address::Address;
use crate::open_error::OpenError;

/// tokio's tasks and timers with our own sockets.
type Kit = RuntimeParts<Tokio, Sockets>;

/// A socket with or without TLS.
type Socket = Compat<Box<dyn Duplex>>;

trait Duplex: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Duplex for S {}

/// Connects to a broker.
#[derive(Clone)]
pub(crate) struct Transport(Option<TlsConnector>);

impl Transport {
    /// TLS for `amqps`, trusting the machine's certificates and those of `ca_file`.
    pub(crate) fn new(address: &Address, ca_file: Option<&Path>) -> Result<Self, OpenError> {
        match address.uri().scheme {
            AMQPScheme::AMQP => Ok(Self(None)),
            AMQPScheme::AMQPS => Ok(Self(Some(connector(ca_file)?))),
        }
    }

    /// Connects to the broker.
    pub(super) async fn connect(
        &self,
        address: &Address,
        properties: ConnectionProperties,
    ) -> lapin::Result<Connection> {
        let kit = RuntimeParts::new(Tokio::current(), Sockets(Tokio::current()));
        let transport = self.clone();
        let dial = async move |uri: AMQPUri, _: Runtime<Kit>| {
            let limit = uri.query.connection_timeout.map(Duration::from_millis);
            let dialling = transport.dial(&uri);
            let dialled = timeout(limit.unwrap_or(CONNECT_DEADLINE), dialling).await;
            let socket = dialled.map_err(io::Error::from)??;
            Ok(AsyncTcpStream::Plain(socket))
        };
        Connection::connector(address.uri(), Runtime::new(kit), dial, properties).await
    }

    async fn dial(&self, uri: &AMQPUri) -> io::Result<Socket> {
        let host = uri.authority.host.as_str();
        let socket = TcpStream::connect((host, uri.authority.port)).await?;
        socket.set_nodelay(true)?;
        let Some(tls) = &self.0 else {
            return Ok(boxed(socket));
        };
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(boxed(tls.connect(name, socket).await?))
    }
}

fn boxed(socket: impl Duplex + 'static) -> Socket {
    let socket: Box<dyn Duplex> = Box::new(socket);
    socket.compat()
}

fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, OpenError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        add_certificates(&mut roots, path).ok_or(OpenError::MalformedCertificates)?;
    }
    // Set explicitly, because the process may have no default provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_unknown| OpenError::MalformedCertificates)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Adds the certificates of a file. `None` if the file has none or one is malformed.
fn add_certificates(roots: &mut RootCertStore, path: &Path) -> Option<()> {
    let before = roots.len();
    for certificate in CertificateDer::pem_file_iter(path).ok()? {
        roots.add(certificate.ok()?).ok()?;
    }
    (roots.len() > before).then_some(())
}

/// Tokio's reactor with another type of socket.
#[derive(Debug, Clone)]
struct Sockets(Tokio);

impl Reactor for Sockets {
    type TcpStream = Socket;
    type Sleep = Sleep;

    /// The trait needs this for sockets that were opened elsewhere. lapin does not call it
    /// here.
    fn register<H: Read + Write + Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Socket, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, time: Duration) -> Self::Sleep {
        self.0.sleep(time)
    }

    fn interval(&self, time: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(time)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        let connecting = TcpStream::connect(address);
        async { Ok(boxed(connecting.await?)) }
    }
}
