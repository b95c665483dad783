//! The certificates that some providers sign with, each got once and kept.
//!
//! A post that names a certificate which is not here yet has to wait for it: it
//! cannot be recorded, since nothing proves it, and it cannot be refused, since the
//! sender would give the mail up. So the answer waits, within the time that a
//! sender allows, and is 503 when the certificate does not come; then the sender
//! tries again, and by that time it is often here.
//!
//! Whoever can post can name certificates that do not exist, at the provider's
//! own place and nowhere else. One is got at a time and only a few in a minute, so
//! that neither we nor the provider have much work with it; those that are here
//! already are not touched by that.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Clock, Timestamp};
use providers::Certificate;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// More are never in use: SNS has one for each region, and two while it changes.
const MOST_KEPT: usize = 32;

/// A certificate is got anew after this time, so that one that was withdrawn does
/// not prove anything for ever.
const KEPT_FOR: Duration = Duration::from_hours(24);

/// More are not got in a minute.
const MOST_IN_A_MINUTE: usize = 10;

/// SNS hangs up after 15 s.
const PATIENCE: Duration = Duration::from_secs(5);

/// A certificate cannot be had now; it may be later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the certificate cannot be had")]
pub struct CertificateAway;

/// Gets a certificate from where a source said that it may be.
#[async_trait]
pub trait CertificateFetch: Send + Sync {
    /// What is at this URL, without following it anywhere else.
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, CertificateAway>;
}

/// The certificates that were got, the oldest first.
pub struct Certificates {
    from: Arc<dyn CertificateFetch>,
    clock: Arc<dyn Clock>,
    patience: Duration,
    kept: Mutex<VecDeque<Kept>>,
    /// When the last few were asked for.
    asked: Mutex<VecDeque<Timestamp>>,
    /// One at a time.
    turn: Semaphore,
}

struct Kept {
    url: String,
    certificate: Arc<Certificate>,
    since: Timestamp,
}

impl Certificates {
    /// None yet, to be got from there.
    pub fn new(from: Arc<dyn CertificateFetch>, clock: Arc<dyn Clock>) -> Self {
        Self {
            from,
            clock,
            patience: PATIENCE,
            kept: Mutex::default(),
            asked: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// The certificate at a URL that a source has allowed.
    pub(crate) async fn get(&self, url: &str) -> Result<Arc<Certificate>, CertificateAway> {
        if let Some(certificate) = self.known(url) {
            return Ok(certificate);
        }
        match timeout(self.patience, self.get_in_turn(url)).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(CertificateAway),
        }
    }

    async fn get_in_turn(&self, url: &str) -> Result<Arc<Certificate>, CertificateAway> {
        let _turn = self.turn.acquire().await.ok().ok_or(CertificateAway)?;
        // Whoever had the turn before may have got it.
        if let Some(certificate) = self.known(url) {
            return Ok(certificate);
        }
        if !self.may_ask() {
            tracing::warn!("too many certificates were asked for; none is got for now");
            return Err(CertificateAway);
        }
        let pem = self.from.fetch(url).await?;
        let certificate = Certificate::from_pem(&pem).ok_or(CertificateAway)?;
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

    fn may_ask(&self) -> bool {
        let now = self.clock.now();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|at| now.since(*at) < Duration::from_mins(1));
        if asked.len() == MOST_IN_A_MINUTE {
            return false;
        }
        asked.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests;
