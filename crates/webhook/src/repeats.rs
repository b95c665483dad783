//! Posts that repeat one which is being recorded. Providers retry while a slow answer is
//! under way, and some send every post several times at once.
//!
//! A repeated post waits for the commit of the first one and is answered from it. It is not
//! sealed, and the database need not refuse it. A post that comes after the commit goes to
//! the database like any other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pipeline::{ContentDigest, DeliveryKey, NewDelivery, Recorded};
use tokio::sync::watch;

/// Two posts that have both of these in common are the same delivery.
type Same = (DeliveryKey, ContentDigest);

/// The posts that are being recorded, each with what those that repeat it wait for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repeats {
    recording: Arc<Mutex<HashMap<Same, FirstAnswer>>>,
}

/// Whether a post is to be recorded.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is. Posts that repeat it wait until this is answered or dropped.
    First(First),
    /// The same delivery is being recorded.
    Repeat(FirstAnswer),
}

/// A post that is to be recorded.
#[derive(Debug)]
pub(crate) struct First {
    repeats: Repeats,
    same: Same,
    answer: watch::Sender<Option<Recorded>>,
}

/// What becomes of the first post.
#[derive(Debug, Clone)]
pub(crate) struct FirstAnswer(watch::Receiver<Option<Recorded>>);

impl Repeats {
    /// Notes that a post came.
    pub(crate) fn begin(&self, delivery: &NewDelivery) -> Begun {
        let same = (delivery.key, delivery.content);
        let mut recording = self.recording();
        if let Some(first) = recording.get(&same) {
            return Begun::Repeat(first.clone());
        }
        let (answer, answered) = watch::channel(None);
        recording.insert(same, FirstAnswer(answered));
        drop(recording);
        Begun::First(First {
            repeats: self.clone(),
            same,
            answer,
        })
    }

    /// A poisoned lock is safe to use: each change of the map is one call.
    fn recording(&self) -> MutexGuard<'_, HashMap<Same, FirstAnswer>> {
        self.recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl First {
    /// Answers the posts that repeat this one.
    pub(crate) fn answer(self, recorded: Recorded) {
        self.answer.send_replace(Some(recorded.of_repeat()));
    }
}

/// From now on the database decides. Posts that wait for this one and have no answer fail:
/// nothing may be said of them.
impl Drop for First {
    fn drop(&mut self) {
        self.repeats.recording().remove(&self.same);
    }
}

impl FirstAnswer {
    /// The answer for a post that repeats the first one. `None` if that was not recorded.
    pub(crate) async fn wait(mut self) -> Option<Recorded> {
        let answered = self.0.wait_for(Option::is_some).await;
        answered.ok().and_then(|recorded| *recorded)
    }
}
