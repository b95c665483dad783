//! One probe for all who ask at about the same time. Everybody may ask for `/livez` and
//! `/readyz`, so each request must not cost a query of the database and of the broker.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Probe, ProbeError};
use tokio::sync::watch;
use tokio::time::Instant;

/// How long an answer is given again. A failure is reported this much later at most.
const REUSED: Duration = Duration::from_secs(1);

/// A probe that runs once at a time, and at most once in [`REUSED`].
pub(crate) struct SharedProbe {
    probe: Arc<dyn Probe>,
    health: Latest<Result<(), String>>,
    needs_restart: Latest<bool>,
}

impl SharedProbe {
    pub(crate) fn over(probe: &Arc<dyn Probe>) -> Arc<dyn Probe> {
        Self::reused_for(REUSED, probe)
    }

    fn reused_for(reused: Duration, probe: &Arc<dyn Probe>) -> Arc<dyn Probe> {
        Arc::new(Self {
            probe: Arc::clone(probe),
            health: Latest::new(reused),
            needs_restart: Latest::new(reused),
        })
    }
}

#[async_trait]
impl Probe for SharedProbe {
    fn name(&self) -> &'static str {
        self.probe.name()
    }

    async fn probe(&self) -> Result<(), ProbeError> {
        let probe = Arc::clone(&self.probe);
        let work = async move { probe.probe().await.map_err(|error| error.to_string()) };
        let answer = self.health.ask(work).await;
        let interrupted = || Err("the check was interrupted".to_owned());
        answer.unwrap_or_else(interrupted).map_err(ProbeError)
    }

    async fn needs_restart(&self) -> bool {
        let probe = Arc::clone(&self.probe);
        let work = async move { probe.needs_restart().await };
        self.needs_restart.ask(work).await.unwrap_or(false)
    }
}

/// An answer and when it was known; `None` while the question is being asked.
type Answer<T> = Option<(Instant, T)>;

/// The latest answer to a question.
struct Latest<T> {
    reused: Duration,
    answer: Mutex<Option<watch::Receiver<Answer<T>>>>,
}

impl<T: Clone + Send + Sync + 'static> Latest<T> {
    fn new(reused: Duration) -> Self {
        Self {
            reused,
            answer: Mutex::default(),
        }
    }

    /// The answer of the work that runs now, or that has just ended; otherwise of `work`.
    /// The work is a task of its own: a client that hangs up must not end it, because the
    /// next one would begin it again. `None` if it ended without an answer.
    async fn ask(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let mut answer = self.answer_of(work);
        let answer = answer.wait_for(Option::is_some).await.ok()?;
        answer.as_ref().map(|(_, answer)| answer.clone())
    }

    fn answer_of(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> watch::Receiver<Answer<T>> {
        // No panic can leave it half-written, so a poisoned lock is safe to use.
        let mut latest = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = latest.as_ref().filter(|answer| self.is_usable(answer)) {
            return answer.clone();
        }
        let (sender, answer) = watch::channel(None);
        tokio::spawn(async move {
            let known = work.await;
            sender.send_replace(Some((Instant::now(), known)));
        });
        *latest = Some(answer.clone());
        answer
    }

    /// Whether an answer is new, or is still awaited and can come.
    fn is_usable(&self, answer: &watch::Receiver<Answer<T>>) -> bool {
        match &*answer.borrow() {
            Some((known_at, _)) => known_at.elapsed() < self.reused,
            None => answer.has_changed().is_ok(),
        }
    }
}

#[cfg(test)]
mod tests;
