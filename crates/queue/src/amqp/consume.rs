//! A consumer that is rebuilt whenever its session ends.

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{DoorbellListener, Notification};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::connection::{CurrentConnection, LiveConnection};
use super::reconnect_backoff::ReconnectBackoff;
use super::session::{Session, SessionEnd};
use super::topology::Topology;

/// One consumer of the queue, over any number of sessions.
pub(super) struct AmqpListener {
    connection: CurrentConnection,
    topology: Arc<Topology>,
    prefetch: u16,
    closed: CancellationToken,
    session: Option<Session>,
    /// A session that is being opened. It runs in its own task, because a consumer
    /// whose opening is dropped halfway stays registered in lapin and swallows notifications.
    opening: Option<JoinHandle<Result<Session, SessionEnd>>>,
    backoff: ReconnectBackoff,
    /// The connection of the last session, and when to try that connection again.
    tried: Option<Arc<LiveConnection>>,
    not_before: Instant,
}

impl AmqpListener {
    pub(super) fn new(
        connection: CurrentConnection,
        topology: Arc<Topology>,
        prefetch: u16,
        closed: CancellationToken,
    ) -> Self {
        Self {
            connection,
            topology,
            prefetch,
            closed,
            session: None,
            opening: None,
            backoff: ReconnectBackoff::default(),
            tried: None,
            not_before: Instant::now(),
        }
    }

    /// Waits for the next notification over any number of sessions. Every await here may be
    /// dropped; the progress is kept in `self`.
    async fn next_notification(&mut self) -> Notification {
        loop {
            if self.session.is_none() {
                self.open_session().await;
            }
            let Some(session) = &mut self.session else {
                continue;
            };
            match session.next_message().await {
                Ok(delivery) => {
                    if let Some(notification) = session.parse(delivery).await {
                        return notification;
                    }
                }
                Err(end) => self.end_session(&end),
            }
        }
    }

    /// Opens a session, or continues to open the one that was begun.
    async fn open_session(&mut self) {
        if self.opening.is_none() {
            let connection = self.next_connection().await;
            let opening = Session::open(connection, Arc::clone(&self.topology), self.prefetch);
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

    /// The current connection; after a pause, if the last try was on the same one.
    async fn next_connection(&mut self) -> Arc<LiveConnection> {
        let connection = self.connection.wait().await;
        let is_tried = self
            .tried
            .as_ref()
            .is_some_and(|tried| Arc::ptr_eq(tried, &connection));
        if !is_tried {
            self.tried = Some(Arc::clone(&connection));
            return connection;
        }
        sleep_until(self.not_before).await;
        self.connection.wait().await
    }

    fn end_session(&mut self, end: &SessionEnd) {
        if let Some(session) = self.session.take() {
            self.backoff.connection_lasted(session.age());
            self.pause(end);
        }
    }

    fn pause(&mut self, end: &SessionEnd) {
        if self.backoff.should_warn() {
            warn!(cause = %end, "the consumer ended and is opened again");
        } else {
            debug!(cause = %end, "the consumer ended and is opened again");
        }
        self.not_before = Instant::now() + self.backoff.next_wait();
    }
}

#[async_trait]
impl DoorbellListener for AmqpListener {
    async fn next(&mut self) -> Option<Notification> {
        let closed = self.closed.clone();
        closed.run_until_cancelled(self.next_notification()).await
    }
}
