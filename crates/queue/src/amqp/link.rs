//! A connection that is kept up, as its users see it.

use std::sync::Arc;

use futures_util::Stream;
use lapin::{Channel, Connection, Event};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::DEADLINE;
use super::topology::Topology;

/// A live connection, with the queues declared.
pub(super) struct Line {
    connection: Connection,
    /// The line's own channel; with publisher confirms if the line is to ring.
    pub(super) channel: Channel,
    trouble: Notify,
    /// Cancelled when the line is over, for whoever waits on it.
    pub(super) over: CancellationToken,
}

impl Line {
    pub(super) fn new(connection: Connection, channel: Channel) -> Self {
        Self {
            connection,
            channel,
            trouble: Notify::new(),
            over: CancellationToken::new(),
        }
    }

    /// Tells the supervisor that this line does not work.
    pub(super) fn report(&self) {
        self.trouble.notify_one();
    }

    /// Returns when somebody has reported this line.
    pub(super) async fn reported(&self) {
        self.trouble.notified().await;
    }

    /// What lapin notices of the connection.
    pub(super) fn events(&self) -> impl Stream<Item = Event> + Send {
        self.connection.events_listener()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connection.status().connected()
    }

    /// A further channel.
    pub(super) async fn open_channel(&self) -> lapin::Result<Channel> {
        self.connection.create_channel().await
    }

    /// Asks for the queue on a channel of its own, which a missing queue closes.
    pub(super) async fn look(&self, topology: &Topology) -> lapin::Result<()> {
        topology.look(&self.open_channel().await?).await
    }

    /// Ends the line and says so to the broker if it still listens.
    pub(super) async fn hang_up(&self) {
        self.over.cancel();
        let goodbye = self.connection.close(200, "goodbye".into());
        match timeout(DEADLINE, goodbye).await {
            Ok(Ok(())) => {}
            // It is over either way; the broker notices by itself.
            Ok(Err(error)) => debug!(%error, "the broker's connection was already down"),
            Err(_) => debug!("the broker did not answer the goodbye"),
        }
    }
}

/// The current line, if there is one. Clones see the same line.
#[derive(Clone)]
pub(super) struct Link(watch::Receiver<Option<Arc<Line>>>);

impl Link {
    pub(super) fn new(current: watch::Receiver<Option<Arc<Line>>>) -> Self {
        Self(current)
    }

    /// The line right now.
    pub(super) fn line(&self) -> Option<Arc<Line>> {
        self.0.borrow().clone()
    }

    /// The line, once there is one; never, when the supervisor has ended.
    pub(super) async fn wait_for_line(&mut self) -> Arc<Line> {
        loop {
            if let Some(line) = self.0.borrow_and_update().clone() {
                return line;
            }
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
