//! Fetches and caches the certificates that some providers sign with.
//!
//! A post whose certificate is not cached waits for the fetch. It cannot be recorded,
//! because nothing proves it yet, and it must not be refused, because the sender
//! would drop the mail. If the fetch does not finish in time the answer is 503; the
//! sender retries, and by then the certificate is usually cached.
//!
//! Anybody can post the URL of a certificate that does not exist, though only at the
//! provider's own host. So one certificate is fetched at a time, and only a few in a
//! minute, of which one address has a small share. An address whose certificate was not
//! there must wait before its next fetch, each time four times as long: a hundred addresses
//! that make up names do not use up the fetches for long. Certificates that were cached
//! before are fetched again apart from these limits.
//!
//! Neither a list of names that do not exist nor a pause for the whole host would help:
//! each made-up name is new, and the host is the provider's own.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// How many fetches of certificates that were cached before are allowed in a minute.
const MOST_AGAIN: usize = MOST_KEPT;

/// The longest wait of an address whose certificates are not there.
const LONGEST_REST: Duration = Duration::from_hours(1);

/// How long a post waits for a certificate. SNS closes its connection after 15 s.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A certificate could not be fetched now; a later fetch may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateUnavailable {
    /// The host has no certificate there.
    #[error("the certificate does not exist")]
    NotThere,
    /// The host did not answer in time or is out of order, or too many are asked for.
    #[error("the certificate could not be fetched")]
    Away,
}

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
    fetches: Mutex<Fetches>,
    /// One permit, so that one certificate is fetched at a time.
    turn: Semaphore,
}

struct Kept {
    url: String,
    certificate: Arc<Certificate>,
    since: Timestamp,
}

/// The fetches of the last minute, and the addresses that named what is not there.
#[derive(Default)]
struct Fetches {
    asked: VecDeque<(Timestamp, Account)>,
    /// How often in a row, and when last.
    missed: HashMap<Option<IpAddr>, (u32, Timestamp)>,
}

/// On whose account a certificate is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Account {
    /// That of the network that a post came from.
    Peer(Option<IpAddr>),
    /// No network's: it was cached before.
    Again,
}

impl Certificates {
    /// An empty cache; certificates are fetched by `from`.
    pub fn new(from: Arc<dyn CertificateFetch>, clock: Arc<dyn Clock>) -> Self {
        Self {
            from,
            clock,
            timeout: TIMEOUT,
            kept: Mutex::default(),
            fetches: Mutex::default(),
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
            Err(_elapsed) => Err(CertificateUnavailable::Away),
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
            .ok_or(CertificateUnavailable::Away)?;
        // The previous holder of the permit may have fetched it.
        if let Some(certificate) = self.known(url) {
            return Ok(certificate);
        }
        let account = if self.was_known(url) {
            Account::Again
        } else {
            Account::Peer(peer.map(network))
        };
        if !self.fetches().take(account, self.clock.now()) {
            tracing::warn!("too many certificate fetches in a minute; this one is refused");
            return Err(CertificateUnavailable::Away);
        }
        let fetched = self.from.fetch(url).await.and_then(|pem| {
            let certificate = Certificate::from_pem(&pem);
            certificate.ok_or(CertificateUnavailable::NotThere)
        });
        self.fetches().end(account, &fetched, self.clock.now());
        Ok(self.keep(url, fetched?))
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

    /// Whether there was a certificate at this URL, however long ago.
    fn was_known(&self, url: &str) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().any(|kept| kept.url == url)
    }

    fn fetches(&self) -> MutexGuard<'_, Fetches> {
        self.fetches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fetches {
    /// Notes a fetch, if the limits allow it.
    fn take(&mut self, account: Account, now: Timestamp) -> bool {
        self.asked
            .retain(|(at, _)| now.since(*at) < Duration::from_mins(1));
        self.missed
            .retain(|_, (_, last)| now.since(*last) < LONGEST_REST);
        let own = self.asked.iter().filter(|(_, other)| *other == account);
        let own = own.count();
        let again = |(_, other): &&(Timestamp, Account)| *other == Account::Again;
        let of_peers = self.asked.len() - self.asked.iter().filter(again).count();
        let may_fetch = match account {
            Account::Again => own < MOST_AGAIN,
            Account::Peer(peer) => {
                own < MOST_OF_AN_ADDRESS && of_peers < MOST_IN_A_MINUTE && !self.rests(peer, now)
            }
        };
        if may_fetch {
            self.asked.push_back((now, account));
        }
        may_fetch
    }

    fn rests(&self, peer: Option<IpAddr>, now: Timestamp) -> bool {
        self.missed.get(&peer).is_some_and(|(times, last)| {
            let minutes = 4_u64.saturating_pow((*times).min(9));
            now.since(*last) < Duration::from_mins(minutes).min(LONGEST_REST)
        })
    }

    fn end(
        &mut self,
        account: Account,
        fetched: &Result<Certificate, CertificateUnavailable>,
        now: Timestamp,
    ) {
        let Account::Peer(peer) = account else { return };
        match fetched {
            Ok(_) => {
                self.missed.remove(&peer);
            }
            Err(CertificateUnavailable::NotThere) => {
                let (times, last) = self.missed.entry(peer).or_insert((0, now));
                (*times, *last) = (times.saturating_add(1), now);
            }
            // The host's fault, not that of the address.
            Err(CertificateUnavailable::Away) => {}
        }
    }
}

#[cfg(test)]
mod tests;
