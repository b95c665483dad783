//! The public keys of the domains that sign, from DNS.
//!
//! A silent DNS server must not stop the worker. A look-up that takes longer than
//! [`QUICK`] gives up its delivery's slot, so that other mail is processed meanwhile. Only
//! a few look-ups may wait like this. Further ones go on without their mail, which is not
//! proven or is retried: by then the answer is cached. No look-up holds a thread.
//!
//! A domain that was slow does not wait again for a while, and neither do its subdomains,
//! because one owner can have any number of them. What is cached counts all the time.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr::{Name, RData};
use mail_auth::common::verify::DomainKey;
use mail_auth::{DnsError, Error, ResolverCache, Txt};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::key_record::{self, NoKey};
use crate::slot::Slot;

/// The longest that a quick answer takes, and one from the cache.
const QUICK: Duration = Duration::from_millis(100);
const CACHED: Duration = Duration::from_millis(10);
/// How many mails may wait for slow look-ups at once, and how many look-ups may go on
/// without their mail.
const MOST_SLOW: usize = 8;
const MOST_LEFT: usize = 64;
/// How long a domain may not wait after no server answered, and how many such domains are
/// remembered.
const REST: Duration = Duration::from_secs(30);
const MOST_RESTING: usize = 1_024;

/// Looks public keys up.
pub(super) struct Keys {
    resolver: TokioResolver,
    /// The longest that a look-up may take.
    budget: Duration,
    /// Permits for mails that wait for a slow look-up.
    slow: Semaphore,
    /// Permits for look-ups that go on without their mail.
    left: Arc<Semaphore>,
    resting: Arc<Resting>,
}

/// The keys with these names, and why others are not there.
#[derive(Default)]
pub(super) struct FoundKeys {
    found: HashMap<Box<str>, Txt>,
    missing: Vec<NoKey>,
}

impl FoundKeys {
    pub(super) fn add(&mut self, name: &str, key: DomainKey) {
        self.found.insert(name.into(), key.into());
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.found.contains_key(name)
    }

    /// Why the first key is missing that is.
    pub(super) fn first_missing(&self) -> Option<NoKey> {
        self.missing.first().copied()
    }

    /// Whether a later look-up may find more.
    pub(super) fn is_unavailable(&self) -> bool {
        self.missing.contains(&NoKey::Unavailable)
    }

    fn none(why: NoKey) -> Self {
        Self {
            found: HashMap::new(),
            missing: vec![why],
        }
    }
}

/// The library takes keys from here, and so makes no queries of its own.
impl ResolverCache<Box<str>, Txt> for FoundKeys {
    fn get<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: std::borrow::Borrow<Q>,
        Q: std::hash::Hash + Eq + ?Sized,
    {
        self.found.get(name).cloned()
    }

    fn remove<Q>(&self, _name: &Q) -> Option<Txt>
    where
        Box<str>: std::borrow::Borrow<Q>,
        Q: std::hash::Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _name: Box<str>, _key: Txt, _valid_until: Instant) {}
}

type LookUp = Pin<Box<dyn Future<Output = FoundKeys> + Send>>;

impl Keys {
    pub(super) fn new(resolver: TokioResolver, budget: Duration) -> Self {
        Self {
            resolver,
            budget,
            slow: Semaphore::new(MOST_SLOW),
            left: Arc::new(Semaphore::new(MOST_LEFT)),
            resting: Arc::default(),
        }
    }

    /// Looks the keys with these names up, all at once. They belong to one registrable
    /// domain.
    pub(super) async fn look_up(
        &self,
        names: Vec<String>,
        domain: &str,
        slot: &mut Slot,
    ) -> FoundKeys {
        let is_resting = self.resting.has(domain);
        let mut looking = self.looking(names, domain.to_owned());
        let quick = timeout(if is_resting { CACHED } else { QUICK }, &mut looking);
        if let Ok(found) = quick.await {
            return found;
        }
        if !is_resting && let Ok(_slow) = self.slow.try_acquire() {
            return slot.without(looking).await;
        }
        self.leave(looking);
        FoundKeys::none(NoKey::Unavailable)
    }

    fn looking(&self, names: Vec<String>, domain: String) -> LookUp {
        let (resolver, budget) = (self.resolver.clone(), self.budget);
        let resting = Arc::clone(&self.resting);
        Box::pin(async move {
            let began = Instant::now();
            let each = names.iter().map(|name| one(&resolver, name, budget));
            let answers = join_all(each).await;
            let mut keys = FoundKeys::default();
            for (name, answer) in names.iter().zip(answers) {
                match answer {
                    Ok(key) => keys.add(name, key),
                    Err(why) => keys.missing.push(why),
                }
            }
            if keys.is_unavailable() && began.elapsed() > QUICK {
                resting.add(domain);
            }
            keys
        })
    }

    /// Lets a look-up go on without its mail, so that the answer is cached.
    fn leave(&self, looking: LookUp) {
        if let Ok(permit) = Arc::clone(&self.left).try_acquire_owned() {
            tokio::spawn(async move {
                looking.await;
                drop(permit);
            });
        }
    }
}

async fn one(resolver: &TokioResolver, name: &str, budget: Duration) -> Result<DomainKey, NoKey> {
    let queried = Name::from_ascii(name).map_err(|_not_a_name| NoKey::Unreadable)?;
    let answer = match timeout(budget, resolver.txt_lookup(queried)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(missing(&Error::from(error))),
        Err(_elapsed) => return Err(NoKey::Unavailable),
    };
    let records = answer
        .answers()
        .iter()
        .filter_map(|record| match &record.data {
            RData::TXT(text) => Some(text.txt_data.concat()),
            _ => None,
        });
    // Further records are for something else, or of a version that is not known.
    let mut why = NoKey::Missing;
    for record in records {
        match key_record::read(&record) {
            Ok(key) => return Ok(key),
            Err(found) => why = found,
        }
    }
    Err(why)
}

fn missing(error: &Error) -> NoKey {
    match error {
        Error::Dns(DnsError::Resolver(_)) => NoKey::Unavailable,
        Error::Dns(_) => NoKey::Missing,
        _ => NoKey::Unreadable,
    }
}

/// Registrable domains for which no server answered, and until when they may not wait.
#[derive(Default)]
struct Resting(Mutex<HashMap<String, Instant>>);

impl Resting {
    fn has(&self, domain: &str) -> bool {
        let resting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        resting
            .get(domain)
            .is_some_and(|until| Instant::now() < *until)
    }

    fn add(&self, domain: String) {
        let mut resting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if resting.len() >= MOST_RESTING {
            resting.retain(|_, until| now < *until);
        }
        if resting.len() < MOST_RESTING {
            resting.insert(domain, now + REST);
        }
    }
}
