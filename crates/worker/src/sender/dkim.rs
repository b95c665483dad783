//! DKIM: whether a mail carries a valid signature of its sender's own domain.
//!
//! Only signatures of the domain in `From:` are checked, so the author of a mail
//! cannot make us query any other name. Only signatures that cover what the
//! extractor reads count.
//!
//! A mail is checked in three steps: its header is read, keys are looked up, and with the
//! keys its body is hashed and the signatures are verified. The first and the last step
//! have a thread. A header is bounded, and so are the signatures; there are two ways to
//! hash a body, and each stops when the time is over.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::system_conf::read_system_conf;
use mail_auth::common::crypto::HashAlgorithm;
use mail_auth::common::verify::VerifySignature;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DkimResult, Error, MessageAuthenticator, Parameters,
};
use pipeline::{InboxId, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::addressees;
use super::body::{self, Late};
use super::coverage::{Candidates, Unfit, prepare};
use super::key_record::NoKey;
use super::keys::{FoundKeys, Keys};
use crate::slot::Slot;

/// How many keys are cached, each for its record's TTL and at most an hour.
const MOST_KEYS: u64 = 1_024;
const LONGEST_KEY: Duration = Duration::from_hours(1);

/// Checks DKIM signatures.
pub struct Dkim {
    authenticator: MessageAuthenticator,
    keys: Keys,
    /// How long the body of one mail may be hashed.
    budget: Duration,
    /// Permits for threads that hash bodies: no more than there are cores, so that no mail
    /// takes the time of another.
    threads: Arc<Semaphore>,
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
    /// The time was over; a later check may succeed.
    Late,
}

/// The DNS servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to build a DNS resolver")]
pub struct DkimError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Dkim {
    /// Queries these servers, or the machine's own when the list is empty. `None`
    /// when the machine has none either. `budget` is the longest that the look-ups for one
    /// mail may take, and the longest that its body may be hashed.
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
        let cores = available_parallelism().map_or(2, NonZero::get);
        Ok(Some(Self {
            keys: Keys::new(authenticator.resolver().clone(), budget),
            authenticator,
            budget,
            threads: Arc::new(Semaphore::new(cores.clamp(2, 8))),
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
        let header = Mail {
            raw: Arc::clone(&raw),
            domain: domain.clone(),
            at,
        };
        // A panic in a thread fails this mail alone.
        let names = match spawn_blocking(move || header.key_names()).await {
            Ok(Ok(names)) => names,
            Ok(Err(Unfit(reason))) => return DkimCheck::Invalid(reason),
            Err(_panicked) => return DkimCheck::Invalid("signature_unreadable"),
        };
        let registrable = extract::registrable(&domain).unwrap_or(&domain).to_owned();
        let keys = self.keys.look_up(names, &registrable, slot).await;
        let mail = Mail { raw, domain, at };
        let (authenticator, budget) = (self.authenticator.clone(), self.budget);
        // The permit is released when the thread ends, also when nobody waits for it.
        let permit = Arc::clone(&self.threads).acquire_owned().await;
        let checking = spawn_blocking(move || {
            let _permit = permit;
            mail.verify(&authenticator, &keys, Instant::now() + budget)
        });
        let checked = checking.await;
        checked.unwrap_or(DkimCheck::Invalid("signature_unreadable"))
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

/// A mail whose signatures are checked.
struct Mail {
    raw: Arc<Vec<u8>>,
    /// The sender's domain.
    domain: String,
    at: Timestamp,
}

impl Mail {
    /// The names of the keys of the signatures that may count.
    fn key_names(&self) -> Result<Vec<String>, Unfit> {
        let candidates = prepare(&self.raw, &self.domain, self.at)?;
        let signatures = candidates.message.dkim_headers.iter();
        let names: BTreeSet<String> = signatures.map(|field| field.header.domain_key()).collect();
        Ok(names.into_iter().collect())
    }

    fn verify(
        &self,
        authenticator: &MessageAuthenticator,
        keys: &FoundKeys,
        deadline: Instant,
    ) -> DkimCheck {
        match prepare(&self.raw, &self.domain, self.at) {
            Ok(candidates) => verify(authenticator, candidates, keys, deadline),
            Err(Unfit(reason)) => DkimCheck::Invalid(reason),
        }
    }
}

/// Verifies the signatures whose keys were found.
fn verify(
    authenticator: &MessageAuthenticator,
    candidates: Candidates<'_>,
    keys: &FoundKeys,
    deadline: Instant,
) -> DkimCheck {
    let mut message = candidates.message;
    message
        .dkim_headers
        .retain(|field| keys.has(&field.header.domain_key()));
    message.body_hashes = match body_hashes(&message, candidates.body, deadline) {
        Ok(hashes) => hashes,
        Err(Late) => return DkimCheck::Late,
    };
    // All keys are known, so nothing here waits.
    let verifying = authenticator.verify_dkim(Parameters::new(&message).with_txt_cache(keys));
    let outcomes = Handle::current().block_on(verifying);
    let mut valid = outcomes
        .iter()
        .filter(|outcome| *outcome.result() == DkimResult::Pass)
        .filter_map(DkimOutput::signature)
        .peekable();
    if valid.peek().is_some() {
        let addressees = valid.flat_map(|signature| addressees::signed(&message, signature));
        return DkimCheck::Valid(addressees.collect());
    }
    if keys.is_unavailable() {
        return DkimCheck::DnsUnavailable;
    }
    if candidates.has_more {
        return DkimCheck::Invalid("signature_unchecked");
    }
    let failed = outcomes.first().map(|outcome| invalid(outcome.result()));
    let reason = failed.or_else(|| keys.first_missing().map(without_key));
    DkimCheck::Invalid(reason.unwrap_or("signature_unreadable"))
}

type BodyHashes = Vec<(
    mail_auth::dkim::Canonicalization,
    HashAlgorithm,
    u64,
    Vec<u8>,
)>;

/// The hashes that the signatures need: at most two, one for each canonicalization.
fn body_hashes(
    message: &AuthenticatedMessage<'_>,
    body: &[u8],
    deadline: Instant,
) -> Result<BodyHashes, Late> {
    let mut hashes = BodyHashes::new();
    for field in &message.dkim_headers {
        let canonicalization = field.header.cb;
        if !hashes.iter().any(|(known, ..)| *known == canonicalization) {
            let hash = body::hash(body, canonicalization, deadline)?;
            hashes.push((canonicalization, HashAlgorithm::Sha256, 0, hash));
        }
    }
    Ok(hashes)
}

/// Why a signature whose key is missing does not count.
fn without_key(why: NoKey) -> &'static str {
    match why {
        NoKey::Missing => "key_missing",
        NoKey::Unfit => "key_unfit",
        NoKey::Unreadable => "signature_unreadable",
        NoKey::Unavailable => "dns_away",
    }
}

/// Why a signature does not count.
fn invalid(result: &DkimResult) -> &'static str {
    match result {
        DkimResult::Neutral(Error::Dkim(_)) | DkimResult::Fail(_) => "signature_failed",
        _ => "signature_unreadable",
    }
}

#[cfg(test)]
mod tests {
    use pipeline::{Clock, SystemClock};
    use testkit::dkim::{Signer, key_record};

    use super::*;
    use crate::sender::key_record::read as read_key;

    fn signed(body: &str) -> String {
        let signer = Signer {
            domain: "example.com",
            fields: &["From", "To"],
            at: Some(SystemClock.now().as_seconds()),
            tags: "",
        };
        signer.sign_relaxed(&format!(
            "From: a@example.com\r\nTo: agent@inbox.test\r\n\r\n{body}\r\n"
        ))
    }

    /// The result of checking a mail for so long.
    async fn checked(mail: String, budget: Duration) -> DkimCheck {
        let dkim = Dkim::new(&[([127, 0, 0, 1], 9).into()], Duration::from_secs(1));
        let dkim = dkim.unwrap().unwrap();
        let mail = Mail {
            raw: Arc::new(mail.into_bytes()),
            domain: "example.com".to_owned(),
            at: SystemClock.now(),
        };
        let mut keys = FoundKeys::default();
        for name in mail.key_names().map_err(|Unfit(why)| why).unwrap() {
            let key = read_key(key_record().as_bytes());
            keys.add(&name, key.map_err(|why| format!("{why:?}")).unwrap());
        }
        let checking = move || mail.verify(&dkim.authenticator, &keys, Instant::now() + budget);
        spawn_blocking(checking).await.unwrap()
    }

    #[tokio::test]
    async fn mail_that_is_not_checked_in_time_is_neither_valid_nor_invalid() {
        let mail = signed("a b ".repeat(10_000).trim_end());
        let valid = checked(mail.clone(), Duration::from_mins(1)).await;
        assert!(matches!(valid, DkimCheck::Valid(_)), "{valid:?}");
        assert_eq!(checked(mail.clone(), Duration::ZERO).await, DkimCheck::Late);
        let changed = mail.replace("a b a", "a c a");
        assert_eq!(checked(changed, Duration::ZERO).await, DkimCheck::Late);
    }

    /// The body is hashed for each of two ways to write it down, and not for each signature.
    #[test]
    fn body_is_hashed_at_most_twice() {
        let mail = signed("xy");
        let (field, _) = mail.split_once("\r\n").unwrap();
        let simple = field.replace("c=relaxed/relaxed", "c=simple/simple");
        let mixed = field.replace("c=relaxed/relaxed", "c=simple/relaxed");
        let mail = format!("{simple}\r\n{mixed}\r\n{mail}");
        let candidates = prepare(mail.as_bytes(), "example.com", SystemClock.now());
        let candidates = candidates.map_err(|Unfit(why)| why).unwrap();
        assert_eq!(candidates.message.dkim_headers.len(), 3);
        assert_eq!(candidates.body, b"xy\r\n");
        let deadline = Instant::now() + Duration::from_mins(1);
        let hashes = body_hashes(&candidates.message, candidates.body, deadline);
        assert_eq!(hashes.map(|hashes| hashes.len()), Ok(2));
        // The library did not see the body.
        let mut own = candidates.message.body_hashes.iter();
        assert!(own.all(|(.., hash)| *hash != hash_of_whole(candidates.body)));
    }

    fn hash_of_whole(body: &[u8]) -> Vec<u8> {
        let deadline = Instant::now() + Duration::from_mins(1);
        body::hash(body, mail_auth::dkim::Canonicalization::Relaxed, deadline).unwrap()
    }
}
