//! Rate limits: how many requests one key may make, and how responses report it.
//!
//! Each key has one budget for each kind of request, so a client that reads in a loop
//! cannot use up the budget for consumes. A budget refills evenly: `q` requests a
//! minute, and as many at once when none was used. Each process counts for itself.

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

/// Draft 10 of the IETF's HTTPAPI group: the size of the budget, and what is left.
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The window of every budget, in seconds.
const WINDOW: u32 = 60;
/// After how many requests idle keys are removed from memory.
const CLEAN_UP_EVERY: u32 = 4096;

/// Which budget a request is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetKind {
    Reads,
    Consumes,
    Attempts,
}

/// All budgets of a process.
pub(crate) struct Limits {
    reads: Budget<ConsumerId>,
    consumes: Budget<ConsumerId>,
    attempts: Budget<ConsumerId>,
    failed_consumes: Budget<ConsumerId>,
    unauthenticated: Budget<IpAddr>,
}

impl Limits {
    pub(super) fn new(budgets: &Budgets) -> Self {
        Self {
            reads: Budget::new("reads", budgets.reads),
            consumes: Budget::new("consumes", budgets.consumes),
            attempts: Budget::new("attempts", budgets.attempts),
            failed_consumes: Budget::new("failed-consumes", budgets.failed_consumes),
            unauthenticated: Budget::new("unauthenticated", budgets.unauthenticated),
        }
    }

    /// Charges one request to a budget of a key.
    pub(crate) fn charge(&self, kind: BudgetKind, consumer: &ConsumerId) -> BudgetState {
        match kind {
            BudgetKind::Reads => self.reads.charge(consumer),
            BudgetKind::Consumes => self.consumes.charge(consumer),
            BudgetKind::Attempts => self.attempts.charge(consumer),
        }
    }

    /// Charges a failed consume. This slows down a caller that guesses ids and never
    /// affects one that consumes what is its own.
    pub(crate) fn charge_failed_consume(&self, consumer: &ConsumerId) -> BudgetState {
        self.failed_consumes.charge(consumer)
    }

    /// Charges a request without a valid key to its client address. The address is
    /// the connection's own, because anyone can write a `Forwarded` header.
    pub(crate) fn charge_unauthenticated(&self, request: &HttpRequest) -> BudgetState {
        let address = request
            .peer_addr()
            .map_or(IpAddr::from([0; 4]), |peer| network(peer.ip()));
        self.unauthenticated.charge(&address)
    }

    /// The policy header of a response to a request that was not charged.
    fn unauthenticated_policy(&self) -> HeaderValue {
        policy(self.unauthenticated.name, self.unauthenticated.quota)
    }
}

/// One customer owns a whole IPv6 /64 and could use a new address for each request,
/// so the /64 is charged as one.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => {
            let [a, b, c, d, ..] = six.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

/// One kind of budget, with its state for each key.
struct Budget<K: Hash + Eq + Clone> {
    name: &'static str,
    quota: NonZeroU32,
    limiter: RateLimiter<K, HashMapStateStore<K>, DefaultClock, StateInformationMiddleware>,
    charges: AtomicU32,
}

impl<K: Hash + Eq + Clone> Budget<K> {
    fn new(name: &'static str, per_minute: NonZeroU32) -> Self {
        let limiter = RateLimiter::hashmap(Quota::per_minute(per_minute));
        Self {
            name,
            quota: per_minute,
            limiter: limiter.with_middleware(),
            charges: AtomicU32::new(0),
        }
    }

    fn charge(&self, key: &K) -> BudgetState {
        if self.charges.fetch_add(1, Ordering::Relaxed) % CLEAN_UP_EVERY == CLEAN_UP_EVERY - 1 {
            self.limiter.retain_recent();
        }
        let (left, wait) = match self.limiter.check_key(key) {
            Ok(state) => (Some(state.remaining_burst_capacity()), Duration::ZERO),
            Err(not_yet) => (None, not_yet.wait_time_from(DefaultClock::default().now())),
        };
        BudgetState {
            name: self.name,
            quota: self.quota,
            left,
            wait,
        }
    }
}

/// The state of a budget after a request was charged to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BudgetState {
    name: &'static str,
    quota: NonZeroU32,
    /// `None` when the budget was used up before this request.
    left: Option<u32>,
    wait: Duration,
}

impl BudgetState {
    /// Whether the budget had room for the request.
    pub(crate) fn is_within(&self) -> bool {
        self.left.is_some()
    }

    /// In how many seconds there is room for the next request, at least one.
    pub(crate) fn retry_after(&self) -> u64 {
        let has_fraction = self.wait.subsec_nanos() > 0;
        (self.wait.as_secs() + u64::from(has_fraction)).max(1)
    }

    /// Writes the rate limit headers.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
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

/// What a request was charged. It is kept on the request until the response is
/// written.
#[derive(Debug, Clone)]
pub(crate) struct Charge {
    pub(crate) state: BudgetState,
    /// The consumer to charge if this consume fails.
    pub(crate) consumer: Option<ConsumerId>,
}

/// Writes the rate limit headers of a response.
pub(crate) fn announce(limits: &Limits, charge: Option<&Charge>, headers: &mut HeaderMap) {
    match charge {
        Some(charge) => charge.state.write(headers),
        None => {
            headers.insert(RATE_LIMIT_POLICY, limits.unauthenticated_policy());
        }
    }
}

/// Whether the status of a consume means that the caller had no right to the value.
/// A malformed request and a failure of the server do not count.
pub(crate) fn is_failed_consume(status: StatusCode) -> bool {
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
    fn budgets_are_counted_per_key() {
        let budget = budget(3);
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let left: Vec<_> = (0..4).map(|_| budget.charge(&one).left).collect();
        assert_eq!(left, [Some(2), Some(1), Some(0), None]);
        assert_eq!(budget.charge(&two).left, Some(2));
        let refused = budget.charge(&one);
        assert!((15..=20).contains(&refused.retry_after()), "{refused:?}");
    }

    #[test]
    fn charged_request_writes_the_ratelimit_headers_of_draft_10() {
        let mut headers = HeaderMap::new();
        budget(60)
            .charge(&IpAddr::from([10, 0, 0, 1]))
            .write(&mut headers);
        assert_eq!(
            headers.get(RATE_LIMIT_POLICY).unwrap(),
            "\"test\";q=60;w=60"
        );
        assert_eq!(headers.get(RATE_LIMIT).unwrap(), "\"test\";r=59;t=1");
    }

    #[test]
    fn addresses_of_one_ipv6_64_share_a_budget() {
        let (one, two): (IpAddr, IpAddr) = (
            "2001:db8:1:2::1".parse().unwrap(),
            "2001:db8:1:2:ffff::9".parse().unwrap(),
        );
        assert_eq!(network(one), network(two));
        assert_ne!(network(one), network("2001:db8:1:3::1".parse().unwrap()));
    }
}
