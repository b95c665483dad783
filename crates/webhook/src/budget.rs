//! The memory budget for bodies. Every byte that is read is reserved here, and
//! released when its post is answered and its commit has ended. A slow database
//! therefore uses up the budget and not the machine's memory.
//!
//! Nobody may use up the whole budget. One client address gets at most half of it and
//! one source at most three quarters, so that clients who send slowly, or forge posts
//! for one source, do not keep others from posting.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pipeline::SourceName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::peer::network;

/// What a post costs besides its body: headers, answer, its place in the queue.
/// Without it a flood of empty bodies would cost nothing.
const OVERHEAD: usize = 1024;

/// The budget, or the caller's share of it, is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetSpent;

/// On whose account bytes are reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// The client's address; `None` when it is unknown.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) source: SourceName,
}

/// The bytes that can still be reserved.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    bytes: Arc<Semaphore>,
    used: Arc<Mutex<Used>>,
    peer_share: usize,
    source_share: usize,
}

/// Reserved bytes by account.
#[derive(Debug, Default)]
struct Used {
    peers: HashMap<Option<IpAddr>, usize>,
    sources: HashMap<SourceName, usize>,
}

/// Reserved bytes; dropping it releases them.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Budget,
    account: Account,
    permit: OwnedSemaphorePermit,
}

impl Budget {
    /// A budget of `bytes`. Every share has room for one body of `largest_body`.
    pub(crate) fn new(bytes: usize, largest_body: usize) -> Self {
        let one_post = largest_body.saturating_add(OVERHEAD);
        Self {
            bytes: Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))),
            used: Arc::default(),
            peer_share: one_post.max(bytes / 2),
            source_share: one_post.max(bytes / 4 * 3),
        }
    }

    /// Reserves what a post costs before its body.
    pub(crate) fn reserve(&self, account: Account) -> Result<Reservation, BudgetSpent> {
        let account = Account {
            peer: account.peer.map(network),
            ..account
        };
        Ok(Reservation {
            permit: self.take(&account, OVERHEAD)?,
            budget: self.clone(),
            account,
        })
    }

    fn take(&self, account: &Account, bytes: usize) -> Result<OwnedSemaphorePermit, BudgetSpent> {
        let count = u32::try_from(bytes).ok().ok_or(BudgetSpent)?;
        let mut used = self.used();
        let peer = used.peers.get(&account.peer).copied().unwrap_or(0);
        let source = used.sources.get(&account.source).copied().unwrap_or(0);
        let fits = |used: usize, share| used.saturating_add(bytes) <= share;
        if !fits(peer, self.peer_share) || !fits(source, self.source_share) {
            return Err(BudgetSpent);
        }
        let permit = Arc::clone(&self.bytes).try_acquire_many_owned(count);
        let permit = permit.ok().ok_or(BudgetSpent)?;
        used.peers.insert(account.peer, peer + bytes);
        used.sources.insert(account.source.clone(), source + bytes);
        Ok(permit)
    }

    /// A poisoned lock is safe to use: the maps hold only counts.
    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Reserves `bytes` more.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), BudgetSpent> {
        self.permit.merge(self.budget.take(&self.account, bytes)?);
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let bytes = self.permit.num_permits();
        let mut used = self.budget.used();
        release(&mut used.peers, &self.account.peer, bytes);
        release(&mut used.sources, &self.account.source, bytes);
    }
}

/// Subtracts `bytes` and forgets an account that has none left, so that the maps hold
/// only accounts with posts in progress.
fn release<K: Eq + Hash>(used: &mut HashMap<K, usize>, account: &K, bytes: usize) {
    if let Some(count) = used.get_mut(account) {
        *count = count.saturating_sub(bytes);
        if *count == 0 {
            used.remove(account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(peer: &str, source: &str) -> Account {
        Account {
            peer: Some(peer.parse().expect("an address")),
            source: source.parse().expect("a name"),
        }
    }

    #[test]
    fn dropped_reservation_frees_its_bytes() {
        let budget = Budget::new(2 * OVERHEAD, OVERHEAD);
        let mut first = budget.reserve(account("192.0.2.1", "a")).expect("bytes");
        first.grow(OVERHEAD).expect("bytes are left");
        let other = || budget.reserve(account("192.0.2.2", "b"));
        assert_eq!(other().err(), Some(BudgetSpent));
        assert_eq!(first.grow(1).err(), Some(BudgetSpent));
        drop(first);
        assert!(other().is_ok());
        assert!(budget.used().peers.is_empty(), "no account is kept");
    }

    #[test]
    fn one_address_gets_half_and_one_source_three_quarters() {
        let budget = Budget::new(16 * OVERHEAD, 0);
        let reserve = |peer: &str, source: &str| budget.reserve(account(peer, source));
        let taken: Vec<_> = (0..16)
            .map_while(|_| reserve("192.0.2.1", "a").ok())
            .collect();
        assert_eq!(taken.len(), 8);
        let others: Vec<_> = (0..16)
            .map_while(|_| reserve("192.0.2.2", "a").ok())
            .collect();
        assert_eq!(others.len(), 4);
        assert!(reserve("192.0.2.2", "b").is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_share() {
        let budget = Budget::new(4 * OVERHEAD, 0);
        let reserve = |peer: &str| budget.reserve(account(peer, "a"));
        let _held = [reserve("2001:db8::1"), reserve("2001:db8::2")];
        assert!(reserve("2001:db8::3").is_err());
        assert!(reserve("2001:db8:0:1::1").is_ok());
    }
}
