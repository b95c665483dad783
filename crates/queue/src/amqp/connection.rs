//! One live connection to the broker, and the handle to the current one.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::Stream;
use lapin::{Channel, Connection, Event};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::DEADLINE;
use super::topology::Topology;

/// A live connection, with the queues declared.
pub(super) struct LiveConnection {
    connection: Connection,
    /// The connection's first channel; with publisher confirms if it publishes.
    pub(super) channel: Channel,
    failure: Notify,
    /// Cancelled when the connection has ended.
    pub(super) ended: CancellationToken,
}

impl LiveConnection {
    pub(super) fn new(connection: Connection, channel: Channel) -> Self {
        Self {
            connection,
            channel,
            failure: Notify::new(),
            ended: CancellationToken::new(),
        }
    }

    /// Tells the supervisor that this connection does not work.
    pub(super) fn report_failure(&self) {
        self.failure.notify_one();
    }

    /// Returns when somebody has reported a failure.
    pub(super) async fn failure_reported(&self) {
        self.failure.notified().await;
    }

    /// lapin's events about the connection.
    pub(super) fn events(&self) -> impl Stream<Item = Event> + Send {
        self.connection.events_listener()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connection.status().connected()
    }

    /// Opens another channel.
    pub(super) async fn open_channel(&self) -> lapin::Result<Channel> {
        self.connection.create_channel().await
    }

    /// Checks that the queue exists, on a separate channel, because the broker
    /// closes the channel when it does not.
    pub(super) async fn check_queue(&self, topology: &Topology) -> lapin::Result<()> {
        topology.check(&self.open_channel().await?).await
    }

    /// Closes the connection and tells the broker if it still answers.
    pub(super) async fn close(&self) {
        self.ended.cancel();
        let closing = self.connection.close(200, "closing".into());
        match timeout(DEADLINE, closing).await {
            Ok(Ok(())) => {}
            // The connection is over either way; the broker notices by itself.
            Ok(Err(error)) => debug!(%error, "the connection to the broker was already down"),
            Err(_) => debug!("the broker did not answer the close"),
        }
    }
}

/// The current connection, if there is one. Clones see the same connection.
#[derive(Clone)]
pub(super) struct CurrentConnection {
    live: watch::Receiver<Option<Arc<LiveConnection>>>,
    failure: LastFailure,
}

/// Why the last try to connect failed, in words.
pub(super) type LastFailure = Arc<Mutex<Option<&'static str>>>;

impl CurrentConnection {
    pub(super) fn new(
        live: watch::Receiver<Option<Arc<LiveConnection>>>,
        failure: LastFailure,
    ) -> Self {
        Self { live, failure }
    }

    /// Why there is no connection.
    pub(super) fn failure(&self) -> &'static str {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.unwrap_or("it did not answer yet")
    }

    /// The connection right now.
    pub(super) fn get(&self) -> Option<Arc<LiveConnection>> {
        self.live.borrow().clone()
    }

    /// The connection, once there is one. Never returns when the supervisor has ended.
    pub(super) async fn wait(&mut self) -> Arc<LiveConnection> {
        loop {
            if let Some(connection) = self.live.borrow_and_update().clone() {
                return connection;
            }
            if self.live.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
