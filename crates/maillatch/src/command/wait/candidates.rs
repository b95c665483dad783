//! Which of the items that can be had is taken: the newest, and none that is older
//! than one of its kind that was used. A code that a newer one has replaced is the
//! code of yesterday, whether somebody has used it or not.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::client::Item;

/// An item that can be had.
pub(super) struct Candidate {
    pub(super) item: Item,
    /// Whether it came during the wait.
    pub(super) is_new: bool,
    age: Age,
}

/// When a mail was received, and its place in the feed among those of that time.
type Age = (Option<OffsetDateTime>, usize);

/// The items that can be had, and how old the newest is that was used.
#[derive(Default)]
pub(super) struct Candidates {
    usable: Vec<Candidate>,
    used: Option<Age>,
    seen: usize,
}

impl Candidates {
    /// Takes in an item of the feed that can be had; they come in its order.
    pub(super) fn add(&mut self, item: Item, is_new: bool) {
        let age = self.age(&item);
        self.usable.push(Candidate { item, is_new, age });
    }

    /// Takes in an item of the feed that was used, or that a newer one replaces.
    pub(super) fn note_used(&mut self, item: &Item) {
        let age = self.age(item);
        self.used = self.used.max(Some(age));
    }

    /// Notes that somebody was faster.
    pub(super) fn was_used(&mut self, candidate: &Candidate) {
        self.used = self.used.max(Some(candidate.age));
    }

    /// The newest that may be taken.
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
