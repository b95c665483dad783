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

/// Where to log in, and as whom.
pub(crate) struct Login {
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    user: String,
    password: SecretString,
}

impl Login {
    /// Checks where and as whom. Without TLS only on this machine.
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
        let (tls, usual) = match url.scheme() {
            "imaps" => {
                let name = ServerName::try_from(host.clone()).ok();
                let name = name.ok_or(unfit("it names no host"))?;
                (Some((connector(ca_file)?, name)), 993)
            }
            "imap" if is_here => (None, 143),
            _ => return Err(unfit("imaps:// is needed, or imap:// on this machine")),
        };
        let port = url.port().unwrap_or(usual);
        Ok(Self {
            host,
            port,
            tls,
            user,
            password,
        })
    }

    /// A new session, logged in.
    pub(crate) async fn enter(&self) -> Result<Mailbox, PullError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.ok().ok_or(PullError::Away)?;
        let inner: Box<dyn Wire> = match &self.tls {
            None => Box::new(stream),
            Some((connector, name)) => {
                let secured = connector.connect(name.clone(), stream).await;
                Box::new(secured.ok().ok_or(PullError::Away)?)
            }
        };
        let left = 1024 * 1024;
        let mut client = Client::new(Bounded { inner, left });
        let greeting = client.read_response().await;
        greeting.ok().flatten().ok_or(PullError::Away)?;
        let entered = client
            .login(&self.user, self.password.expose_secret())
            .await;
        entered.map_err(|(error, _)| match error {
            async_imap::error::Error::No(_) => PullError::Unauthorised,
            _ => PullError::Away,
        })
    }
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
    use super::*;

    fn login(server: &str) -> Result<Login, PullFlaw> {
        Login::new(server, "a".to_owned(), "b".into(), None)
    }

    #[test]
    fn without_tls_only_on_this_machine() {
        for good in [
            "imaps://mail.x.test",
            "imaps://mail.x.test:1993",
            "imap://127.0.0.1:143",
            "imap://localhost",
            "imap://[::1]:143",
        ] {
            assert!(login(good).is_ok(), "{good}");
        }
        for bad in ["imap://mail.x.test", "https://127.0.0.1", "imaps://", "x"] {
            assert!(login(bad).is_err(), "{bad}");
        }
    }
}
