//! Opening a mailbox: the connection, TLS and the login.
//!
//! The library would log passwords at its finest level; its log is not connected here.
//! Its errors may quote a mail, so they are replaced by our own at once.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_imap::{Client, Session};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::PollError;
use crate::flaw::PollFlaw;

/// The connection that IMAP uses.
pub(crate) trait Connection:
    AsyncRead + AsyncWrite + Unpin + Send + Sync + fmt::Debug
{
}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync + fmt::Debug> Connection for T {}

/// A connection with a limit on the bytes that are read, so that a server cannot fill our
/// memory.
#[derive(Debug)]
pub(crate) struct Bounded {
    inner: Box<dyn Connection>,
    /// How many more bytes may be read.
    left: u64,
}

impl Bounded {
    /// Starts with a limit of 1 MiB, which is enough for the greeting and the login.
    fn before_login(inner: Box<dyn Connection>) -> Self {
        let left = 1024 * 1024;
        Self { inner, left }
    }

    /// Sets how many bytes may be read from now on.
    pub(crate) fn set_limit(&mut self, bytes: u64) {
        self.left = bytes;
    }
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let read = buffer.filled().len().saturating_sub(before) as u64;
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Err(std::io::Error::other("too many bytes"))),
        }
        polled
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// A session that is logged in.
pub(crate) type Mailbox = Session<Bounded>;

/// How the connection is protected.
enum Protection {
    /// The server is on this machine.
    OnThisMachine,
    /// TLS from the first byte, usually at port 993 (RFC 8314).
    Tls(TlsConnector, ServerName<'static>),
    /// TLS by `STARTTLS`, usually at port 143 (RFC 9051, section 6.2.1).
    StartTls(TlsConnector, ServerName<'static>),
}

/// Where to log in, and as which user.
pub(crate) struct Login {
    host: String,
    port: u16,
    protection: Protection,
    user: String,
    password: SecretString,
}

impl Login {
    /// Checks the server's URL; without TLS only this machine is allowed.
    pub(crate) fn new(
        server: &str,
        user: String,
        password: SecretString,
        ca_file: Option<&Path>,
    ) -> Result<Self, PollFlaw> {
        let unfit = |why| PollFlaw::Unfit("poll.server", why);
        let url = Url::parse(server).ok();
        let url = url.ok_or(unfit("it is not a URL such as imaps://host:993"))?;
        let host = url.host_str().unwrap_or_default();
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let is_here = host == "localhost" || is_loopback(&host);
        let name = || {
            let name = ServerName::try_from(host.clone()).ok();
            name.ok_or(unfit("it names no host"))
        };
        let (protection, usual) = match url.scheme() {
            "imaps" => (Protection::Tls(connector(ca_file)?, name()?), 993),
            "imap+starttls" => (Protection::StartTls(connector(ca_file)?, name()?), 143),
            "imap" if is_here => (Protection::OnThisMachine, 143),
            _ => return Err(unfit(SCHEMES)),
        };
        let port = url.port().unwrap_or(usual);
        Ok(Self {
            host,
            port,
            protection,
            user,
            password,
        })
    }

    /// Opens a session and logs in.
    pub(crate) async fn open(&self) -> Result<Mailbox, PollError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.ok().ok_or(PollError::Unavailable)?;
        let client = match &self.protection {
            Protection::OnThisMachine => greeted(Box::new(stream)).await?,
            Protection::Tls(connector, name) => {
                greeted(secured(connector, name, Box::new(stream)).await?).await?
            }
            Protection::StartTls(connector, name) => {
                let mut client = greeted(Box::new(stream)).await?;
                // Without an OK there is no login. Bytes after the OK came unencrypted,
                // perhaps from an attacker: they are dropped with the client that may
                // have read them.
                let asked = client.run_command_and_check_ok("STARTTLS", None).await;
                asked.ok().ok_or(PollError::Unavailable)?;
                let plain = client.into_inner().inner;
                Client::new(Bounded::before_login(
                    secured(connector, name, plain).await?,
                ))
            }
        };
        let entered = client
            .login(&self.user, self.password.expose_secret())
            .await;
        entered.map_err(|(error, _)| match error {
            async_imap::error::Error::No(_) => PollError::Unauthorized,
            _ => PollError::Unavailable,
        })
    }
}

const SCHEMES: &str = "imaps:// or imap+starttls:// is required, or imap:// for this machine";

/// A client, after the server's greeting.
async fn greeted(connection: Box<dyn Connection>) -> Result<Client<Bounded>, PollError> {
    let mut client = Client::new(Bounded::before_login(connection));
    let greeting = client.read_response().await;
    greeting.ok().flatten().ok_or(PollError::Unavailable)?;
    Ok(client)
}

async fn secured(
    connector: &TlsConnector,
    name: &ServerName<'static>,
    connection: Box<dyn Connection>,
) -> Result<Box<dyn Connection>, PollError> {
    let secured = connector.connect(name.clone(), connection).await;
    Ok(Box::new(secured.ok().ok_or(PollError::Unavailable)?))
}

fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => address.is_loopback(),
        Ok(Host::Domain(_)) | Err(_) => host == "::1",
    }
}

/// TLS that trusts the machine's certificates and those of `ca_file`.
fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, PollFlaw> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let unfit = || PollFlaw::Unfit("poll.ca_file", "it holds no certificates in PEM");
        let read = CertificateDer::pem_file_iter(path).ok().ok_or_else(unfit)?;
        for certificate in read {
            let certificate = certificate.ok().ok_or_else(unfit)?;
            roots.add(certificate).ok().ok_or_else(unfit)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| PollFlaw::Client(Box::new(error)))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn login(server: &str) -> Result<Login, PollFlaw> {
        Login::new(server, "a".to_owned(), "b".into(), None)
    }

    #[test]
    fn server_url_needs_tls_unless_on_this_machine() {
        for good in [
            "imaps://mail.x.test",
            "imaps://mail.x.test:1993",
            "imap+starttls://mail.x.test",
            "imap+starttls://127.0.0.1:1143",
            "imap://127.0.0.1:143",
            "imap://localhost",
            "imap://[::1]:143",
        ] {
            assert!(login(good).is_ok(), "{good}");
        }
        for bad in [
            "imap://mail.x.test",
            "https://127.0.0.1",
            "imaps://",
            "imap+starttls://",
            "x",
        ] {
            assert!(login(bad).is_err(), "{bad}");
        }
    }

    /// Logs in at a server that greets and then answers one line with `answer`. Returns
    /// the result and everything that the server received.
    async fn log_in(answer: &'static str) -> (Result<Mailbox, PollError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"* OK ready\r\n").await.unwrap();
            let mut received = vec![0; 1024];
            let read = stream.read(&mut received).await.unwrap();
            let line = String::from_utf8_lossy(&received[..read]).into_owned();
            let (tag, _) = line.split_once(' ').unwrap();
            let answer = answer.replace("TAG", tag);
            stream.write_all(answer.as_bytes()).await.unwrap();
            // Sends nothing more, and reads what the client still sends.
            stream.shutdown().await.unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            line + &String::from_utf8_lossy(&rest)
        });
        let login = Login::new(
            &format!("imap+starttls://localhost:{port}"),
            "somebody".to_owned(),
            "a-password".into(),
            None,
        );
        let entered = login.unwrap().open().await;
        (entered, server.await.unwrap())
    }

    #[tokio::test]
    async fn server_without_tls_receives_no_password() {
        for answer in [
            "TAG BAD what?\r\n",
            "TAG NO not today\r\n",
            // An attacker on the path promises TLS and continues unencrypted.
            "TAG OK begin\r\nA0002 OK logged in\r\n",
        ] {
            let (entered, received) = log_in(answer).await;
            assert_eq!(entered.err(), Some(PollError::Unavailable), "{answer}");
            assert!(received.contains("STARTTLS"), "{received}");
            assert!(!received.contains("LOGIN"), "{received}");
            assert!(!received.contains("password"), "{received}");
        }
    }
}
