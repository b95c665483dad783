//! Hearing: a consumer that is built again whenever it ends.

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{DoorbellListener, Notification};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::link::{Line, Link};
use super::pace::Pace;
use super::session::{Session, SessionEnd};
use super::topology::Topology;

/// One consumer of the queue, through as many sessions as it takes.
pub(super) struct AmqpBell {
    link: Link,
    topology: Arc<Topology>,
    prefetch: u16,
    closed: CancellationToken,
    session: Option<Session>,
    /// A session that is being opened. It is a task of its own, because a
    /// consumer whose opening is dropped halfway stays in lapin's books and
    /// swallows rings that nobody hears.
    opening: Option<JoinHandle<Result<Session, SessionEnd>>>,
    pace: Pace,
    /// The line of the last session, and when to try that line again.
    tried: Option<Arc<Line>>,
    not_before: Instant,
}

impl AmqpBell {
    pub(super) fn new(
        link: Link,
        topology: Arc<Topology>,
        prefetch: u16,
        closed: CancellationToken,
    ) -> Self {
        Self {
            link,
            topology,
            prefetch,
            closed,
            session: None,
            opening: None,
            pace: Pace::default(),
            tried: None,
            not_before: Instant::now(),
        }
    }

    /// Waits for the next ring through any number of sessions. Every wait in
    /// here may be dropped: what is gained so far is kept in `self`.
    async fn hear(&mut self) -> Notification {
        loop {
            if self.session.is_none() {
                self.sit_down().await;
            }
            let Some(session) = &mut self.session else {
                continue;
            };
            match session.hear().await {
                Ok(delivery) => {
                    if let Some(ring) = session.unpack(delivery).await {
                        return ring;
                    }
                }
                Err(end) => self.stand_up(&end),
            }
        }
    }

    /// Opens a session, or goes on opening the one that was begun.
    async fn sit_down(&mut self) {
        if self.opening.is_none() {
            let line = self.line_worth_trying().await;
            let opening = Session::open(line, Arc::clone(&self.topology), self.prefetch);
            self.opening = Some(tokio::spawn(opening));
        }
        let Some(opening) = &mut self.opening else {
            return;
        };
        let opened = opening.await;
        self.opening = None;
        match opened {
            Ok(Ok(session)) => self.session = Some(session),
            Ok(Err(end)) => self.pause(&end),
            Err(error) => self.pause(&SessionEnd::Panicked(error)),
        }
    }

    /// The current line; after a pause, if the last try was on the same one.
    async fn line_worth_trying(&mut self) -> Arc<Line> {
        let line = self.link.wait_for_line().await;
        let is_tried = self
            .tried
            .as_ref()
            .is_some_and(|tried| Arc::ptr_eq(tried, &line));
        if !is_tried {
            self.tried = Some(Arc::clone(&line));
            return line;
        }
        sleep_until(self.not_before).await;
        self.link.wait_for_line().await
    }

    fn stand_up(&mut self, end: &SessionEnd) {
        if let Some(session) = self.session.take() {
            self.pace.lived(session.age());
            self.pause(end);
        }
    }

    fn pause(&mut self, end: &SessionEnd) {
        if self.pace.is_worth_saying() {
            warn!(cause = %end, "the bell has to be hung anew");
        } else {
            debug!(cause = %end, "the bell has to be hung anew");
        }
        self.not_before = Instant::now() + self.pace.wait();
    }
}

#[async_trait]
impl DoorbellListener for AmqpBell {
    async fn next(&mut self) -> Option<Notification> {
        let closed = self.closed.clone();
        closed.run_until_cancelled(self.hear()).await
    }
}
