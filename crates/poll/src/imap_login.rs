//! Getting into a mailbox: the connection, its TLS, and the login.
//!
//! The library would write passwords to its log at the finest level; nothing of
//! that facade is connected here, and its errors, which may quote a mail, are
//! turned into words of ours on the spot.

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

use crate::contract::PullFlaw;
use crate::pull::PullError;

/// What IMAP is spoken over.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send + Sync + fmt::Debug {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync + fmt::Debug> Wire for T {}

/// A wire that brings no more than so many bytes: whatever a server sends, it
/// cannot fill our memory.
#[derive(Debug)]
pub(crate) struct Bounded {
    inner: Box<dyn Wire>,
    left: u64,
}

impl Bounded {
    /// As much as a server has to say until somebody is logged in.
    fn over(inner: Box<dyn Wire>) -> Self {
        let left = 1024 * 1024;
        Self { inner, left }
    }

    /// Allows for so many bytes from now on.
    pub(crate) fn allow(&mut self, bytes: u64) {
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

/// A session of ours.
pub(crate) type Mailbox = Session<Bounded>;

/// How what is said is kept from others.
enum Safety {
    /// The server is on this machine.
    OnThisMachine,
    /// TLS from the first byte, usually at port 993 (RFC 8314).
    Tls(TlsConnector, ServerName<'static>),
    /// TLS by `STARTTLS`, usually at port 143 (RFC 9051, section 6.2.1).
    StartTls(TlsConnector, ServerName<'static>),
}

/// Where to log in, and as whom.
pub(crate) struct Login {
    host: String,
    port: u16,
    safety: Safety,
    user: String,
    password: SecretString,
}

impl Login {
    /// Checks where and as whom; without TLS only on this machine.
    pub(crate) fn new(
        server: &str,
        user: String,
        password: SecretString,
        ca_file: Option<&Path>,
    ) -> Result<Self, PullFlaw> {
        let unfit = |why| PullFlaw::Unfit("poll.server", why);
        let url = Url::parse(server).ok();
        let url = url.ok_or(unfit("it is no URL such as imaps://host:993"))?;
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
        let (safety, usual) = match url.scheme() {
            "imaps" => (Safety::Tls(connector(ca_file)?, name()?), 993),
            "imap+starttls" => (Safety::StartTls(connector(ca_file)?, name()?), 143),
            "imap" if is_here => (Safety::OnThisMachine, 143),
            _ => return Err(unfit(SCHEMES)),
        };
        let port = url.port().unwrap_or(usual);
        Ok(Self {
            host,
            port,
            safety,
            user,
            password,
        })
    }

    /// A new session, logged in.
    pub(crate) async fn enter(&self) -> Result<Mailbox, PullError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.ok().ok_or(PullError::Away)?;
        let client = match &self.safety {
            Safety::OnThisMachine => greeted(Box::new(stream)).await?,
            Safety::Tls(connector, name) => {
                greeted(secured(connector, name, Box::new(stream)).await?).await?
            }
            Safety::StartTls(connector, name) => {
                let mut client = greeted(Box::new(stream)).await?;
                // Without a yes there is no login. Whatever stands behind the yes
                // was said in the open, perhaps by somebody else: it is thrown
                // away with the client that may have read it.
                let asked = client.run_command_and_check_ok("STARTTLS", None).await;
                asked.ok().ok_or(PullError::Away)?;
                let open = client.into_inner().inner;
                Client::new(Bounded::over(secured(connector, name, open).await?))
            }
        };
        let entered = client
            .login(&self.user, self.password.expose_secret())
            .await;
        entered.map_err(|(error, _)| match error {
            async_imap::error::Error::No(_) => PullError::Unauthorised,
            _ => PullError::Away,
        })
    }
}

const SCHEMES: &str = "imaps:// or imap+starttls:// is needed, or imap:// on this machine";

/// A client of a server that has greeted.
async fn greeted(wire: Box<dyn Wire>) -> Result<Client<Bounded>, PullError> {
    let mut client = Client::new(Bounded::over(wire));
    let greeting = client.read_response().await;
    greeting.ok().flatten().ok_or(PullError::Away)?;
    Ok(client)
}

async fn secured(
    connector: &TlsConnector,
    name: &ServerName<'static>,
    wire: Box<dyn Wire>,
) -> Result<Box<dyn Wire>, PullError> {
    let secured = connector.connect(name.clone(), wire).await;
    Ok(Box::new(secured.ok().ok_or(PullError::Away)?))
}

fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => address.is_loopback(),
        Ok(Host::Domain(_)) | Err(_) => host == "::1",
    }
}

/// TLS that trusts the machine's certificates and those of `ca_file`.
fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, PullFlaw> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let unfit = || PullFlaw::Unfit("poll.ca_file", "it holds no certificates in PEM");
        let read = CertificateDer::pem_file_iter(path).ok().ok_or_else(unfit)?;
        for certificate in read {
            let certificate = certificate.ok().ok_or_else(unfit)?;
            roots.add(certificate).ok().ok_or_else(unfit)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| PullFlaw::Client(Box::new(error)))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn login(server: &str) -> Result<Login, PullFlaw> {
        Login::new(server, "a".to_owned(), "b".into(), None)
    }

    #[test]
    fn without_tls_only_on_this_machine() {
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

    /// Enters a server that greets and then answers one line with `answer`;
    /// returns what came of it and all that the server was told.
    async fn told(answer: &'static str) -> (Result<Mailbox, PullError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"* OK ready\r\n").await.unwrap();
            let mut heard = vec![0; 1024];
            let read = stream.read(&mut heard).await.unwrap();
            let line = String::from_utf8_lossy(&heard[..read]).into_owned();
            let (tag, _) = line.split_once(' ').unwrap();
            let answer = answer.replace("TAG", tag);
            stream.write_all(answer.as_bytes()).await.unwrap();
            // No more is said; what the client still has to say is heard to its end.
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
        let entered = login.unwrap().enter().await;
        (entered, server.await.unwrap())
    }

    #[tokio::test]
    async fn a_server_that_offers_no_tls_hears_no_password() {
        for answer in [
            "TAG BAD what?\r\n",
            "TAG NO not today\r\n",
            // A stranger on the way promises TLS and goes on in the open.
            "TAG OK begin\r\nA0002 OK logged in\r\n",
        ] {
            let (entered, heard) = told(answer).await;
            assert_eq!(entered.err(), Some(PullError::Away), "{answer}");
            assert!(heard.contains("STARTTLS"), "{heard}");
            assert!(!heard.contains("LOGIN"), "{heard}");
            assert!(!heard.contains("password"), "{heard}");
        }
    }
}
