//! What an item of the feed means to a wait: available, an explanation, or
//! irrelevant.

use pipeline::{Clock, SystemClock};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Search;
use super::handle::Handle;
use super::miss::Miss;
use client::{Item, State};

/// What an item means to a wait.
pub(super) enum Sorted {
    /// It can be consumed.
    Available,
    /// It cannot be consumed, and this explains why.
    Explains(Miss),
    /// It has nothing to do with this wait.
    Irrelevant,
}

/// Sorts an item. `handle` knows the wait's own attempt; `is_new` says that the item
/// arrived during the wait.
pub(super) fn sort(search: &Search<'_>, item: &Item, handle: &Handle, is_new: bool) -> Sorted {
    let is_wanted = item.kind == search.kind;
    let is_free = is_wanted && item.state == State::Available;
    if is_expired(item) {
        let was_missed = is_new && is_wanted && item.state == State::Expired;
        return explains_if(was_missed, Miss::Expired);
    }
    let attempt = item.attempt.as_deref().filter(|id| !handle.is_own(id));
    if !is_from(item, search.from_domain) {
        return explains_if(is_free && attempt.is_none(), Miss::other_sender());
    }
    if let Some(attempt) = attempt {
        let attempt = Some(attempt.to_owned());
        let counts = is_wanted && (is_new || is_free);
        return explains_if(counts, Miss::GivenAway { attempt });
    }
    if is_free && search.verified && !item.sender_verified {
        return Sorted::Explains(Miss::unverified());
    }
    match item.state {
        State::Available if is_wanted => Sorted::Available,
        // The item that replaced it is on the feed, too.
        State::Superseded => Sorted::Irrelevant,
        _ => Sorted::Explains(Miss::of(item, search.kind)),
    }
}

/// Whether an item makes older items stale: it was consumed or replaced.
pub(super) fn is_used(search: &Search<'_>, item: &Item) -> bool {
    item.kind == search.kind
        && is_from(item, search.from_domain)
        && matches!(item.state, State::Consumed | State::Superseded)
}

fn explains_if(counts: bool, miss: Miss) -> Sorted {
    if counts {
        Sorted::Explains(miss)
    } else {
        Sorted::Irrelevant
    }
}

/// Whether the sender has the domain or a subdomain of it. The server decides that: the
/// list was asked for with this domain, and then shows it as the domain of such senders.
fn is_from(item: &Item, domain: Option<&str>) -> bool {
    domain.is_none() || item.sender_domain.as_deref() == domain
}

/// Whether an item is too old to explain anything. The server decides whether an item can
/// be consumed. For the others this machine's clock does, and only the explanation
/// depends on it.
fn is_expired(item: &Item) -> bool {
    let ends = OffsetDateTime::parse(&item.expires_at, &Rfc3339);
    let is_past = ends.is_ok_and(|ends| ends.unix_timestamp() <= SystemClock.now().as_seconds());
    item.state == State::Expired || (item.state != State::Available && is_past)
}
