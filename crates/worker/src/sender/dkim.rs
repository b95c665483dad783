//! DKIM: whether a mail carries a valid signature of its sender's own domain.
//!
//! Only signatures of the domain in `From:` are checked, so the author of a mail
//! cannot make us query any other name. Only signatures that cover what the
//! extractor reads count. A key look-up has a deadline.
//!
//! A silent DNS server must not stop the worker. A look-up that takes longer than
//! [`QUICK`] gives up its delivery's slot, so that other mail is processed meanwhile. Only
//! a few look-ups may wait like this. Further ones are abandoned, and their mail is not
//! proven or is retried.
//! A domain whose servers did not answer is not queried again for a while, and neither
//! are its subdomains, because one owner can have any number of them.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::system_conf::read_system_conf;
use mail_auth::{DkimOutput, DkimResult, Error, MessageAuthenticator};
use pipeline::{InboxId, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::addressees;
use super::coverage::{Unfit, prepare};
use crate::slot::Slot;

/// The longest that a cached or quick answer takes. A check that takes longer is slow.
const QUICK: Duration = Duration::from_millis(100);
/// How many slow checks may run at once, and how many checks in all.
const MOST_SLOW: usize = 8;
const MOST_CHECKS: usize = 64;
/// How long a domain is not queried after no server answered, and how many such
/// domains are remembered.
const REST: Duration = Duration::from_secs(30);
const MOST_RESTING: usize = 1_024;
/// How many keys are cached, each for its record's TTL and at most an hour.
const MOST_KEYS: u64 = 1_024;
const LONGEST_KEY: Duration = Duration::from_hours(1);

/// Checks DKIM signatures.
pub struct Dkim {
    authenticator: MessageAuthenticator,
    budget: Duration,
    /// Permits for checks, and for checks that wait for a slow server.
    checks: Arc<Semaphore>,
    slow: Semaphore,
    /// Registrable domains for which no server answered, and until when they are not
    /// queried.
    resting: Arc<Mutex<HashMap<String, Instant>>>,
}

/// The result of checking a mail's signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DkimCheck {
    /// A signature of the sender's domain is valid, and it covers these addresses in
    /// `To` and `Cc`.
    Valid(BTreeSet<InboxId>),
    /// None is, for this reason.
    Invalid(&'static str),
    /// No DNS server answered; a later check may succeed.
    DnsUnavailable,
}

/// The DNS servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to build a DNS resolver")]
pub struct DkimError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Dkim {
    /// Queries these servers, or the machine's own when the list is empty. `None`
    /// when the machine has none either.
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
            checks: Arc::new(Semaphore::new(MOST_CHECKS)),
            slow: Semaphore::new(MOST_SLOW),
            resting: Arc::default(),
        }))
    }

    /// Looks for a valid signature of `domain` on a mail received at `at`.
    pub(super) async fn check(
        &self,
        raw: Arc<Vec<u8>>,
        domain: String,
        at: Timestamp,
        slot: &mut Slot,
    ) -> DkimCheck {
        let registrable = extract::registrable(&domain).unwrap_or(&domain).to_owned();
        if self.is_resting(&registrable) {
            return DkimCheck::DnsUnavailable;
        }
        // The permit is released when the thread ends, also when nobody waits for it.
        let Ok(permit) = Arc::clone(&self.checks).try_acquire_owned() else {
            return DkimCheck::DnsUnavailable;
        };
        let (authenticator, budget) = (self.authenticator.clone(), self.budget);
        let resting = Arc::clone(&self.resting);
        // A blocking thread, because hashing a large mail takes time. A panic there
        // fails this mail alone.
        let checking = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let verifying = verify(&authenticator, &raw, &domain, at);
            let verified = Handle::current().block_on(async { timeout(budget, verifying).await });
            let checked = verified.unwrap_or(DkimCheck::DnsUnavailable);
            if checked == DkimCheck::DnsUnavailable {
                rest(&resting, registrable);
            }
            checked
        });
        self.wait_for(checking, slot).await
    }

    /// Waits for a check. A slow one gives up its slot meanwhile, and only a few may be
    /// slow at once.
    async fn wait_for(&self, mut checking: JoinHandle<DkimCheck>, slot: &mut Slot) -> DkimCheck {
        let quick = timeout(QUICK, &mut checking).await;
        let checked = match quick {
            Ok(checked) => checked,
            Err(_elapsed) => {
                let Ok(_slow) = self.slow.try_acquire() else {
                    return DkimCheck::DnsUnavailable;
                };
                slot.without(checking).await
            }
        };
        checked.unwrap_or(DkimCheck::Invalid("signature_unreadable"))
    }

    fn is_resting(&self, domain: &str) -> bool {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting
            .get(domain)
            .is_some_and(|until| Instant::now() < *until)
    }
}

fn rest(resting: &Mutex<HashMap<String, Instant>>, domain: String) {
    let mut resting = resting.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if resting.len() >= MOST_RESTING {
        resting.retain(|_, until| now < *until);
    }
    if resting.len() < MOST_RESTING {
        resting.insert(domain, now + REST);
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
) -> DkimCheck {
    let message = match prepare(raw, domain, at) {
        Ok(message) => message,
        Err(Unfit(reason)) => return DkimCheck::Invalid(reason),
    };
    let outcomes = authenticator.verify_dkim(&message).await;
    let mut valid = outcomes
        .iter()
        .filter(|outcome| *outcome.result() == DkimResult::Pass)
        .filter_map(DkimOutput::signature)
        .peekable();
    if valid.peek().is_some() {
        let addressees = valid.flat_map(|signature| addressees::signed(&message, signature));
        return DkimCheck::Valid(addressees.collect());
    }
    let mut results = outcomes.iter().map(DkimOutput::result);
    results
        .next()
        .map_or(DkimCheck::Invalid("signature_unreadable"), invalid)
}

/// Why a signature does not count.
fn invalid(result: &DkimResult) -> DkimCheck {
    match result {
        DkimResult::TempError(_) => DkimCheck::DnsUnavailable,
        DkimResult::PermError(Error::Dns(_)) | DkimResult::Neutral(Error::Dns(_)) => {
            DkimCheck::Invalid("key_missing")
        }
        DkimResult::Neutral(Error::Dkim(_)) | DkimResult::Fail(_) => {
            DkimCheck::Invalid("signature_failed")
        }
        _ => DkimCheck::Invalid("signature_unreadable"),
    }
}
