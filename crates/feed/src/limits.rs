//! How often one key may ask, and how a client is told.
//!
//! Each kind of request has a budget of its own for every key, so that a reader
//! in a loop cannot spend what its neighbour consumes with. A budget refills
//! evenly: `q` requests in a minute, and as many at once when none was spent.
//! Each process counts for itself.

use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use pipeline::ConsumerId;

use crate::settings::Budgets;

/// Draft 10 of the IETF's HTTPAPI group: what the budget is, and what is left.
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The window of every budget, in seconds.
const WINDOW: u32 = 60;
/// After how many requests those who ask no more are forgotten.
const SWEEP_EVERY: u32 = 4096;

/// Which budget a request is paid from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purse {
    Reads,
    Consumes,
    Attempts,
}

/// All budgets of a process.
pub(crate) struct Limits {
    reads: Budget<ConsumerId>,
    consumes: Budget<ConsumerId>,
    attempts: Budget<ConsumerId>,
    misses: Budget<ConsumerId>,
    strangers: Budget<IpAddr>,
}

impl Limits {
    pub(crate) fn new(budgets: &Budgets) -> Self {
        Self {
            reads: Budget::new("reads", budgets.reads),
            consumes: Budget::new("consumes", budgets.consumes),
            attempts: Budget::new("attempts", budgets.attempts),
            misses: Budget::new("failed-consumes", budgets.failed_consumes),
            strangers: Budget::new("unauthenticated", budgets.unauthenticated),
        }
    }

    /// Pays for a request of a key.
    pub(crate) fn pay(&self, purse: Purse, consumer: &ConsumerId) -> Tally {
        match purse {
            Purse::Reads => self.reads.spend(consumer),
            Purse::Consumes => self.consumes.spend(consumer),
            Purse::Attempts => self.attempts.spend(consumer),
        }
    }

    /// Counts a consume that came to nothing. Whoever guesses is slowed down by
    /// this; whoever consumes what is his never meets it.
    pub(crate) fn miss(&self, consumer: &ConsumerId) -> Tally {
        self.misses.spend(consumer)
    }

    /// Counts a request without a good key, by the address it came from. A
    /// forwarded address is somebody's claim, so it is the connection's own.
    pub(crate) fn stranger(&self, request: &HttpRequest) -> Tally {
        let address = request
            .peer_addr()
            .map_or(IpAddr::from([0; 4]), |peer| network(peer.ip()));
        self.strangers.spend(&address)
    }

    /// What is said to those from whom no budget was taken.
    pub(crate) fn policy(&self) -> HeaderValue {
        policy(self.strangers.name, self.strangers.quota)
    }
}

/// A whole /64 belongs to one customer, who could take a new address each time.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => {
            let [a, b, c, d, ..] = six.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

/// One budget, of everybody who has one.
struct Budget<K: Hash + Eq + Clone> {
    name: &'static str,
    quota: NonZeroU32,
    limiter: RateLimiter<K, HashMapStateStore<K>, DefaultClock, StateInformationMiddleware>,
    spent: AtomicU32,
}

impl<K: Hash + Eq + Clone> Budget<K> {
    fn new(name: &'static str, per_minute: NonZeroU32) -> Self {
        let limiter = RateLimiter::hashmap(Quota::per_minute(per_minute));
        Self {
            name,
            quota: per_minute,
            limiter: limiter.with_middleware(),
            spent: AtomicU32::new(0),
        }
    }

    fn spend(&self, key: &K) -> Tally {
        if self.spent.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.limiter.retain_recent();
        }
        let (left, wait) = match self.limiter.check_key(key) {
            Ok(state) => (Some(state.remaining_burst_capacity()), Duration::ZERO),
            Err(not_yet) => (None, not_yet.wait_time_from(DefaultClock::default().now())),
        };
        Tally {
            name: self.name,
            quota: self.quota,
            left,
            wait,
        }
    }
}

/// How a budget stands after a request was paid from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    name: &'static str,
    quota: NonZeroU32,
    /// Nothing when the request could not be paid.
    left: Option<u32>,
    wait: Duration,
}

impl Tally {
    /// Whether the budget has paid for the request.
    pub(crate) fn is_paid(&self) -> bool {
        self.left.is_some()
    }

    /// In how many seconds the next request can be paid, one at least.
    pub(crate) fn retry_after(&self) -> u64 {
        let is_begun = self.wait.subsec_nanos() > 0;
        (self.wait.as_secs() + u64::from(is_begun)).max(1)
    }

    /// Says it in the headers.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        headers.insert(RATE_LIMIT_POLICY, policy(self.name, self.quota));
        let left = self.left.unwrap_or(0);
        let full_in = match self.left {
            Some(left) => {
                let missing = u64::from(self.quota.get().saturating_sub(left));
                (missing * u64::from(WINDOW)).div_ceil(u64::from(self.quota.get()))
            }
            None => self.retry_after(),
        };
        let state = format!("\"{}\";r={left};t={full_in}", self.name);
        if let Ok(value) = HeaderValue::try_from(state) {
            headers.insert(RATE_LIMIT, value);
        }
    }
}

fn policy(name: &str, quota: NonZeroU32) -> HeaderValue {
    let text = format!("\"{name}\";q={quota};w={WINDOW}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// What was noted on a request when it was let in, for the answer.
#[derive(Debug, Clone)]
pub(crate) struct Paid {
    pub(crate) tally: Tally,
    /// Who pays when this consume comes to nothing.
    pub(crate) consumer: Option<ConsumerId>,
}

/// Says on every answer what is left.
pub(crate) fn announce(limits: &Limits, paid: Option<&Paid>, headers: &mut HeaderMap) {
    match paid {
        Some(paid) => paid.tally.tell(headers),
        None => {
            headers.insert(RATE_LIMIT_POLICY, limits.policy());
        }
    }
}

/// Whether the answer to a consume says that it came to nothing. A missing
/// header or an odd body is no guess, and a server's trouble is not the key's.
pub(crate) fn is_miss(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::NOT_FOUND
            | StatusCode::CONFLICT
            | StatusCode::GONE
            | StatusCode::UNPROCESSABLE_ENTITY
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(quota: u32) -> Budget<IpAddr> {
        Budget::new("test", NonZeroU32::new(quota).unwrap())
    }

    #[test]
    fn a_budget_is_spent_by_each_alone_and_says_what_is_left() {
        let budget = budget(3);
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let left: Vec<_> = (0..4).map(|_| budget.spend(&one).left).collect();
        assert_eq!(left, [Some(2), Some(1), Some(0), None]);
        assert_eq!(budget.spend(&two).left, Some(2));
        let refused = budget.spend(&one);
        assert!((15..=20).contains(&refused.retry_after()), "{refused:?}");
    }

    #[test]
    fn the_headers_are_those_of_the_draft() {
        let mut headers = HeaderMap::new();
        budget(60)
            .spend(&IpAddr::from([10, 0, 0, 1]))
            .tell(&mut headers);
        assert_eq!(
            headers.get(RATE_LIMIT_POLICY).unwrap(),
            "\"test\";q=60;w=60"
        );
        assert_eq!(headers.get(RATE_LIMIT).unwrap(), "\"test\";r=59;t=1");
    }

    #[test]
    fn a_customer_of_the_newer_internet_is_one_whatever_address_he_takes() {
        let (one, two): (IpAddr, IpAddr) = (
            "2001:db8:1:2::1".parse().unwrap(),
            "2001:db8:1:2:ffff::9".parse().unwrap(),
        );
        assert_eq!(network(one), network(two));
        assert_ne!(network(one), network("2001:db8:1:3::1".parse().unwrap()));
    }
}
