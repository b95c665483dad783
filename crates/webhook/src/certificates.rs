//! Fetches and caches the certificates that some providers sign with.
//!
//! A post whose certificate is not cached waits for the fetch. It cannot be recorded,
//! because nothing proves it yet, and it must not be refused, because the sender
//! would drop the mail. If the fetch does not finish in time the answer is 503; the
//! sender retries, and by then the certificate is usually cached.
//!
//! Anybody can post the URL of a certificate that does not exist, though only at the
//! provider's own host. So one certificate is fetched at a time, the fetches in a minute
//! are limited, and one address may cause only a few of them. Made-up URLs then do not use
//! up the fetches that the provider needs. Cached certificates are not affected.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Clock, Timestamp};
use providers::Certificate;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::peer::network;

/// More are never in use: SNS has one per region, and two during a rotation.
const MOST_KEPT: usize = 32;

/// A certificate is fetched again after this time, so that a withdrawn one stops
/// counting.
const KEPT_FOR: Duration = Duration::from_hours(24);

/// How many fetches are allowed in a minute.
const MOST_IN_A_MINUTE: usize = 60;

/// How many of them one address may cause. A provider needs one for each region.
const MOST_OF_AN_ADDRESS: usize = 4;

/// How long a post waits for a certificate. SNS closes its connection after 15 s.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A certificate could not be fetched now; a later fetch may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the certificate could not be fetched")]
pub struct CertificateUnavailable;

/// Fetches a certificate from a URL that a source allows.
#[async_trait]
pub trait CertificateFetch: Send + Sync {
    /// The bytes at this URL. Redirects are not followed.
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, CertificateUnavailable>;
}

/// Fetches certificates and caches them.
pub struct Certificates {
    from: Arc<dyn CertificateFetch>,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    /// The cached certificates, oldest first.
    kept: Mutex<VecDeque<Kept>>,
    /// When the last fetches were made, and for which address.
    asked: Mutex<VecDeque<(Timestamp, Option<IpAddr>)>>,
    /// One permit, so that one certificate is fetched at a time.
    turn: Semaphore,
}

struct Kept {
    url: String,
    certificate: Arc<Certificate>,
    since: Timestamp,
}

impl Certificates {
    /// An empty cache; certificates are fetched by `from`.
    pub fn new(from: Arc<dyn CertificateFetch>, clock: Arc<dyn Clock>) -> Self {
        Self {
            from,
            clock,
            timeout: TIMEOUT,
            kept: Mutex::default(),
            asked: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// The certificate at a URL that a source has allowed.
    pub(crate) async fn get(
        &self,
        url: &str,
        peer: Option<IpAddr>,
    ) -> Result<Arc<Certificate>, CertificateUnavailable> {
        if let Some(certificate) = self.known(url) {
            return Ok(certificate);
        }
        match timeout(self.timeout, self.get_in_turn(url, peer)).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(CertificateUnavailable),
        }
    }

    async fn get_in_turn(
        &self,
        url: &str,
        peer: Option<IpAddr>,
    ) -> Result<Arc<Certificate>, CertificateUnavailable> {
        let _turn = self
            .turn
            .acquire()
            .await
            .ok()
            .ok_or(CertificateUnavailable)?;
        // The previous holder of the permit may have fetched it.
        if let Some(certificate) = self.known(url) {
            return Ok(certificate);
        }
        if !self.may_fetch(peer.map(network)) {
            tracing::warn!("too many certificate fetches in a minute; this one is refused");
            return Err(CertificateUnavailable);
        }
        let pem = self.from.fetch(url).await?;
        let certificate = Certificate::from_pem(&pem).ok_or(CertificateUnavailable)?;
        Ok(self.keep(url, certificate))
    }

    fn known(&self, url: &str) -> Option<Arc<Certificate>> {
        let now = self.clock.now();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .find(|kept| kept.url == url && now.since(kept.since) < KEPT_FOR)
            .map(|kept| Arc::clone(&kept.certificate))
    }

    fn keep(&self, url: &str, certificate: Certificate) -> Arc<Certificate> {
        let certificate = Arc::new(certificate);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.url != url);
        if kept.len() == MOST_KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept {
            url: url.to_owned(),
            certificate: Arc::clone(&certificate),
            since: self.clock.now(),
        });
        certificate
    }

    fn may_fetch(&self, peer: Option<IpAddr>) -> bool {
        let now = self.clock.now();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|(at, _)| now.since(*at) < Duration::from_mins(1));
        let of_peer = asked.iter().filter(|(_, other)| *other == peer).count();
        if asked.len() == MOST_IN_A_MINUTE || of_peer == MOST_OF_AN_ADDRESS {
            return false;
        }
        asked.push_back((now, peer));
        true
    }
}

#[cfg(test)]
mod tests;
