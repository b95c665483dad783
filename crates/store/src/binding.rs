//! Which of the attempts that wait gets an artifact. The databases find out who
//! waits, in which order and with what; the choice is made here, for both.

use pipeline::{ArtifactKey, Timestamp};
use uuid::Uuid;

/// An attempt that an artifact suits and that waited when its mail was received.
pub(crate) struct Candidate {
    pub(crate) attempt: Uuid,
    /// What the artifact is deduplicated by if it becomes this attempt's.
    pub(crate) key: ArtifactKey,
    pub(crate) opened_at: Timestamp,
    /// Since when the attempt has that very value, if it does.
    pub(crate) has_it_since: Option<Timestamp>,
    /// What the attempt had so far.
    pub(crate) current: Option<Uuid>,
    /// Whether that came in a newer mail than this one.
    pub(crate) is_late: bool,
    /// Whether another mail was asked for since that came.
    pub(crate) asks_again: bool,
}

/// Where an artifact belongs.
pub(crate) enum Binding {
    /// To the inbox alone; nobody waits for it.
    Inbox(ArtifactKey),
    /// To an attempt.
    Attempt(Candidate),
    /// To this attempt, which has it already.
    Known(Candidate),
}

impl Candidate {
    /// Whether a value that this one has comes again for this one, and not for the
    /// first of the line: the same mail was sent twice, or another was asked for. But
    /// if the first has nothing and began to wait when this one had the value, a
    /// service that repeats its codes has sent the first one's.
    fn keeps_it_from(&self, first: &Self) -> bool {
        self.has_it_since.is_some_and(|since| {
            first.current.is_some() || self.asks_again || first.opened_at <= since
        })
    }
}

/// Chooses among those who wait, in the order of the line: who has waited longest
/// with nothing; else who asked last, for that one's mail is newest. A value that one
/// of them has is that one's. Tells also who goes on waiting with nothing.
pub(crate) fn choose(inbox: ArtifactKey, mut line: Vec<Candidate>) -> (Binding, Vec<Uuid>) {
    let Some(first) = line.first() else {
        return (Binding::Inbox(inbox), Vec::new());
    };
    let mut places = line.iter();
    let place = places.position(|it| it.keeps_it_from(first));
    let place = place.unwrap_or(0);
    let chosen = line.remove(place);
    let left = line.iter().filter(|it| it.current.is_none());
    let left = left.map(|it| it.attempt).collect();
    let binding = if chosen.has_it_since.is_some() {
        Binding::Known(chosen)
    } else {
        Binding::Attempt(chosen)
    };
    (binding, left)
}
