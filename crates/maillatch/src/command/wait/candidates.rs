//! Chooses among the available items: the newest, and none that is older than a
//! consumed item of its kind. A code that a newer one has replaced is stale, consumed
//! or not.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use client::Item;

/// An available item.
pub(super) struct Candidate {
    pub(super) item: Item,
    /// Whether it arrived during the wait.
    pub(super) is_new: bool,
    age: Age,
}

/// When a mail was received, then its position in the feed.
type Age = (Option<OffsetDateTime>, usize);

/// The available items, and the age of the newest item that is used.
#[derive(Default)]
pub(super) struct Candidates {
    usable: Vec<Candidate>,
    used: Option<Age>,
    seen: usize,
}

impl Candidates {
    /// Adds an available item; call this in the order of the feed.
    pub(super) fn add(&mut self, item: Item, is_new: bool) {
        let age = self.age(&item);
        self.usable.push(Candidate { item, is_new, age });
    }

    /// Records an item that was consumed or replaced.
    pub(super) fn note_used(&mut self, item: &Item) {
        let age = self.age(item);
        self.used = self.used.max(Some(age));
    }

    /// Records that somebody else consumed a candidate first.
    pub(super) fn was_used(&mut self, candidate: &Candidate) {
        self.used = self.used.max(Some(candidate.age));
    }

    /// Takes the newest candidate that is not stale.
    pub(super) fn pop(&mut self) -> Option<Candidate> {
        let used = self.used;
        self.usable.retain(|one| Some(one.age) > used);
        let ages = self.usable.iter().enumerate();
        let (newest, _) = ages.max_by_key(|(_, one)| one.age)?;
        Some(self.usable.swap_remove(newest))
    }

    fn age(&mut self, item: &Item) -> Age {
        self.seen += 1;
        let received = OffsetDateTime::parse(&item.received_at, &Rfc3339);
        (received.ok(), self.seen)
    }
}
