//! Posts that repeat one which is being recorded. Providers retry while a slow answer is
//! under way, and some send every post several times at once.
//!
//! A repeated post waits for the commit of the first one and is answered from it. It is not
//! sealed, and the database need not refuse it. A post that comes after the commit goes to
//! the database like any other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pipeline::{ContentDigest, DeliveryKey, NewDelivery, Recorded};
use tokio::sync::oneshot;

/// Two posts that have both of these in common are the same delivery.
type Same = (DeliveryKey, ContentDigest);

/// The posts that are being recorded, each with those that repeat it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repeats {
    recording: Arc<Mutex<HashMap<Same, Vec<oneshot::Sender<Recorded>>>>>,
}

/// Whether a post is to be recorded.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is. Posts that repeat it wait until this is answered or dropped.
    First(First),
    /// The same delivery is being recorded. Its answer comes here; none comes if the commit
    /// fails.
    Repeat(oneshot::Receiver<Recorded>),
}

/// A post that is to be recorded.
#[derive(Debug)]
pub(crate) struct First {
    repeats: Repeats,
    same: Same,
}

impl Repeats {
    /// Notes that a post came.
    pub(crate) fn begin(&self, delivery: &NewDelivery) -> Begun {
        let same = (delivery.key, delivery.content);
        let mut recording = self.recording();
        if let Some(waiting) = recording.get_mut(&same) {
            let (to, recorded) = oneshot::channel();
            waiting.push(to);
            return Begun::Repeat(recorded);
        }
        recording.insert(same, Vec::new());
        drop(recording);
        Begun::First(First {
            repeats: self.clone(),
            same,
        })
    }

    /// A poisoned lock is safe to use: each change of the map is one call.
    fn recording(&self) -> MutexGuard<'_, HashMap<Same, Vec<oneshot::Sender<Recorded>>>> {
        self.recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl First {
    /// Answers the posts that repeat this one.
    pub(crate) fn answer(self, recorded: Recorded) {
        let recorded = match recorded {
            Recorded::Refused(holder) => Recorded::Refused(holder),
            kept => Recorded::Duplicate(kept.id()),
        };
        for waiting in self.take() {
            // A client that hung up is not a failure.
            let _ = waiting.send(recorded);
        }
    }

    fn take(&self) -> Vec<oneshot::Sender<Recorded>> {
        let waiting = self.repeats.recording().remove(&self.same);
        waiting.unwrap_or_default()
    }
}

/// A post that is not recorded fails those that repeat it: nothing may be said of them.
impl Drop for First {
    fn drop(&mut self) {
        drop(self.take());
    }
}
