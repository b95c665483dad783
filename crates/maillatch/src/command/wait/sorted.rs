//! What an item of the feed is to a wait: something to take, an explanation, or
//! nothing at all.

use pipeline::{Clock, SystemClock};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Search;
use super::miss::Miss;
use crate::client::{Item, State};

/// What an item is to a wait.
pub(super) enum Sorted {
    /// It can be had.
    Usable,
    /// It cannot, and this is what it tells.
    Tells(Miss),
    /// It tells nothing.
    Nothing,
}

/// Judges an item; `own` is the wait's own attempt, and new is what came during it.
pub(super) fn sort(search: &Search<'_>, item: &Item, own: Option<&str>, is_new: bool) -> Sorted {
    let is_wanted = item.kind == search.kind;
    let is_free = is_wanted && item.state == State::Available;
    if is_over(item) {
        let was_missed = is_new && is_wanted && item.state == State::Expired;
        return tells_if(was_missed, Miss::Expired);
    }
    let attempt = item.attempt.as_deref().filter(|id| Some(*id) != own);
    if !is_from(item, search.from_domain) {
        return tells_if(is_free && attempt.is_none(), Miss::other_sender());
    }
    if let Some(attempt) = attempt {
        let attempt = Some(attempt.to_owned());
        let counts = is_wanted && (is_new || is_free);
        return tells_if(counts, Miss::GivenAway { attempt });
    }
    if is_free && search.verified && !item.sender_verified {
        return Sorted::Tells(Miss::unverified());
    }
    match item.state {
        State::Available if is_wanted => Sorted::Usable,
        // What has replaced it is on the feed, too.
        State::Superseded => Sorted::Nothing,
        _ => Sorted::Tells(Miss::of(item, search.kind)),
    }
}

/// Whether an item says that what is older was used or replaced.
pub(super) fn is_used(search: &Search<'_>, item: &Item) -> bool {
    item.kind == search.kind
        && is_from(item, search.from_domain)
        && matches!(item.state, State::Consumed | State::Superseded)
}

fn tells_if(counts: bool, miss: Miss) -> Sorted {
    if counts {
        Sorted::Tells(miss)
    } else {
        Sorted::Nothing
    }
}

/// Whether the sender is of the domain, or of one below it.
fn is_from(item: &Item, domain: Option<&str>) -> bool {
    let Some(wanted) = domain else { return true };
    item.sender_domain.as_deref().is_some_and(|domain| {
        let rest = domain.strip_suffix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Whether an item's time is over, so that it explains nothing any more. The
/// server's word counts for what can be consumed; for the rest our clock does.
fn is_over(item: &Item) -> bool {
    let ends = OffsetDateTime::parse(&item.expires_at, &Rfc3339);
    let is_past = ends.is_ok_and(|ends| ends.unix_timestamp() <= SystemClock.now().as_seconds());
    item.state == State::Expired || (item.state != State::Available && is_past)
}
