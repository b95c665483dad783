//! DKIM: whether a signature of the sender's own domain holds over a mail.
//!
//! Only signatures of the domain in `From:` are looked at, so a stranger cannot
//! make us ask for any name he likes, and only such as cover what the extractor
//! reads. A key is looked up with a deadline; when no DNS server answers, nothing is
//! asked about that domain for a while, so that its mails are not held up one by
//! one, and whoever keeps a dead server holds up nobody else's.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::system_conf::read_system_conf;
use mail_auth::{DkimOutput, DkimResult, Error, MessageAuthenticator};
use pipeline::Timestamp;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::coverage::{Unfit, prepare};

/// For how long nothing is asked about a domain after no server has answered, and
/// how many of them are noted.
const REST: Duration = Duration::from_secs(30);
const MOST_RESTING: usize = 1_024;
/// Keys that are remembered, each for as long as its record says and an hour at most.
const MOST_KEYS: u64 = 1_024;
const LONGEST_KEY: Duration = Duration::from_hours(1);

/// Checks signatures.
pub struct Dkim {
    authenticator: MessageAuthenticator,
    budget: Duration,
    /// Domains that no server had an answer for, and until when they rest.
    resting: Mutex<HashMap<String, Instant>>,
}

/// What came of looking at a mail's signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signed {
    /// One of the sender's domain holds.
    Yes,
    /// None does, for this reason.
    No(&'static str),
    /// No DNS server has answered; another time it may.
    DnsAway,
}

/// The DNS servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("a resolver cannot be built")]
pub struct DkimError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Dkim {
    /// Asks these servers, or those of the machine when none is named; `None` when
    /// there are none.
    pub fn new(servers: &[SocketAddr], budget: Duration) -> Result<Option<Self>, DkimError> {
        let Some(config) = resolvers(servers) else {
            return Ok(None);
        };
        let mut options = ResolverOpts::default();
        options.timeout = budget / 2;
        options.attempts = 1;
        options.cache_size = MOST_KEYS;
        options.positive_max_ttl = Some(LONGEST_KEY);
        options.negative_max_ttl = Some(LONGEST_KEY);
        let authenticator = MessageAuthenticator::new(config, options);
        let authenticator = authenticator.map_err(|error| DkimError(Box::new(error)))?;
        Ok(Some(Self {
            authenticator,
            budget,
            resting: Mutex::default(),
        }))
    }

    /// Looks for a signature of `domain` on a mail that was received then.
    pub(crate) async fn check(&self, raw: Arc<Vec<u8>>, domain: String, at: Timestamp) -> Signed {
        if self.is_resting(&domain) {
            return Signed::DnsAway;
        }
        let (authenticator, budget) = (self.authenticator.clone(), self.budget);
        let asked = domain.clone();
        // On a thread that may take its time over a large mail, and whose panic is
        // this mail's alone.
        let checking = tokio::task::spawn_blocking(move || {
            let verifying = verify(&authenticator, &raw, &asked, at);
            Handle::current().block_on(async { timeout(budget, verifying).await })
        });
        let signed = match checking.await {
            Ok(Ok(signed)) => signed,
            Ok(Err(_elapsed)) => Signed::DnsAway,
            Err(_panicked) => Signed::No("signature_unreadable"),
        };
        if signed == Signed::DnsAway {
            self.rest(domain);
        }
        signed
    }

    fn is_resting(&self, domain: &str) -> bool {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting
            .get(domain)
            .is_some_and(|until| Instant::now() < *until)
    }

    fn rest(&self, domain: String) {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if resting.len() >= MOST_RESTING {
            resting.retain(|_, until| now < *until);
        }
        if resting.len() < MOST_RESTING {
            resting.insert(domain, now + REST);
        }
    }
}

fn resolvers(servers: &[SocketAddr]) -> Option<ResolverConfig> {
    let config = if servers.is_empty() {
        read_system_conf().ok()?.0
    } else {
        let server = |address: &SocketAddr| {
            let mut connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
            for connection in &mut connections {
                connection.port = address.port();
            }
            NameServerConfig::new(address.ip(), true, connections.into())
        };
        ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect())
    };
    (!config.name_servers().is_empty()).then_some(config)
}

async fn verify(
    authenticator: &MessageAuthenticator,
    raw: &[u8],
    domain: &str,
    at: Timestamp,
) -> Signed {
    let message = match prepare(raw, domain, at) {
        Ok(message) => message,
        Err(Unfit(reason)) => return Signed::No(reason),
    };
    let outcomes = authenticator.verify_dkim(&message).await;
    let mut results = outcomes.iter().map(DkimOutput::result);
    if results.clone().any(|result| *result == DkimResult::Pass) {
        return Signed::Yes;
    }
    results
        .next()
        .map_or(Signed::No("signature_unreadable"), why)
}

/// Why a signature does not count.
fn why(result: &DkimResult) -> Signed {
    match result {
        DkimResult::TempError(_) => Signed::DnsAway,
        DkimResult::PermError(Error::Dns(_)) | DkimResult::Neutral(Error::Dns(_)) => {
            Signed::No("key_missing")
        }
        DkimResult::Neutral(Error::Dkim(_)) | DkimResult::Fail(_) => Signed::No("signature_failed"),
        _ => Signed::No("signature_unreadable"),
    }
}
