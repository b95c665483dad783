//! One session with the queue: a channel, its consumer, and the notifications it delivered.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Acker, Channel, Consumer};
use pipeline::{Acknowledge, Notification};
use tokio::sync::Notify;
use tokio::task::JoinError;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use super::connection::LiveConnection;
use super::topology::Topology;
use super::{CONNECT_DEADLINE, DEADLINE, wire};

/// One session with the queue.
pub(super) struct Session {
    consumer: Consumer,
    channel: Arc<SessionChannel>,
    began: Instant,
}

/// What the notifications of one session share. The channel lives as long as the last notification,
/// so that a consumer may be dropped before its notifications are acknowledged.
struct SessionChannel {
    connection: Arc<LiveConnection>,
    #[expect(dead_code, reason = "held so that the channel stays open")]
    channel: Channel,
    /// Notified when a notification was dropped or its acknowledgement failed. The broker
    /// redelivers such a notification only when the channel closes.
    unacknowledged: Notify,
}

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionEnd {
    #[error("a notification was not acknowledged")]
    Unacknowledged,
    #[error("the broker cancelled the consumer")]
    Cancelled,
    #[error("the connection ended")]
    ConnectionEnded,
    #[error(transparent)]
    Amqp(#[from] lapin::Error),
    #[error(
        "the broker did not answer in time; if this persists, delete the queue, which holds only ids"
    )]
    Deadline,
    #[error("opening the session panicked")]
    Panicked(#[source] JoinError),
}

impl Session {
    /// Opens a session. When that takes too long the whole connection is given up,
    /// because the broker may still create the consumer later.
    pub(super) async fn open(
        connection: Arc<LiveConnection>,
        topology: Arc<Topology>,
        prefetch: u16,
    ) -> Result<Self, SessionEnd> {
        let opening = Self::consume(&connection, &topology, prefetch);
        let Ok(opened) = timeout(CONNECT_DEADLINE, opening).await else {
            connection.report_failure();
            return Err(SessionEnd::Deadline);
        };
        Ok(opened?)
    }

    /// How long the session has lasted.
    pub(super) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    async fn consume(
        connection: &Arc<LiveConnection>,
        topology: &Topology,
        prefetch: u16,
    ) -> lapin::Result<Self> {
        let channel = connection.open_channel().await?;
        // The queue may have been deleted.
        topology.declare(&channel).await?;
        let qos = BasicQosOptions {
            // The limit is per consumer; quorum queues support no other kind.
            global: false,
        };
        channel.basic_qos(prefetch, qos).await?;
        let options = BasicConsumeOptions {
            // No effect in RabbitMQ.
            no_local: false,
            // A notification leaves the queue when it is acknowledged, not when it is sent.
            no_ack: false,
            // Workers share the queue.
            exclusive: false,
            // Wait for the broker's answer.
            nowait: false,
        };
        let consumer = channel
            // An empty tag lets the broker choose one.
            .basic_consume(topology.queue(), "".into(), options, FieldTable::default())
            .await?;
        let channel = SessionChannel {
            connection: Arc::clone(connection),
            channel,
            unacknowledged: Notify::new(),
        };
        Ok(Self {
            consumer,
            channel: Arc::new(channel),
            began: Instant::now(),
        })
    }

    /// The next message, or why the session ended.
    pub(super) async fn next_message(&mut self) -> Result<Delivery, SessionEnd> {
        tokio::select! {
            biased;
            () = self.channel.connection.ended.cancelled() => Err(SessionEnd::ConnectionEnded),
            () = self.channel.unacknowledged.notified() => Err(SessionEnd::Unacknowledged),
            delivery = self.consumer.next() => match delivery {
                Some(Ok(delivery)) => Ok(delivery),
                Some(Err(error)) => Err(SessionEnd::Amqp(error)),
                None => Err(SessionEnd::Cancelled),
            },
        }
    }

    /// The notification in a message. A message that is not a notification is removed from the queue,
    /// because a redelivery would not help.
    pub(super) async fn parse(&self, delivery: Delivery) -> Option<Notification> {
        let acknowledgement = Acknowledgement {
            acker: delivery.acker,
            channel: Arc::clone(&self.channel),
            is_acknowledged: false,
        };
        match wire::read(&delivery.data) {
            Ok(deliveries) => Some(Notification::new(deliveries, Box::new(acknowledgement))),
            Err(error) => {
                let bytes = delivery.data.len();
                warn!(bytes, cause = %error, "removed a message that is not a notification");
                Box::new(acknowledgement).acknowledge().await;
                None
            }
        }
    }
}

/// Acknowledges a notification. Dropping it ends the session, so that the broker redelivers.
struct Acknowledgement {
    acker: Acker,
    channel: Arc<SessionChannel>,
    is_acknowledged: bool,
}

#[async_trait]
impl Acknowledge for Acknowledgement {
    async fn acknowledge(mut self: Box<Self>) {
        let options = BasicAckOptions {
            // This notification alone, not all before it.
            multiple: false,
        };
        match timeout(DEADLINE, self.acker.ack(options)).await {
            Ok(Ok(true)) => self.is_acknowledged = true,
            // The notification's channel is closed, so the broker redelivers the notification.
            Ok(Ok(false)) => {
                debug!("a notification was acknowledged too late; it is redelivered");
                self.is_acknowledged = true;
            }
            Ok(Err(error)) => {
                debug!(%error, "an acknowledgement failed; the notification is redelivered");
            }
            Err(_) => {
                debug!("an acknowledgement timed out; the notification may be redelivered");
                self.channel.connection.report_failure();
            }
        }
    }
}

impl Drop for Acknowledgement {
    fn drop(&mut self) {
        if !self.is_acknowledged {
            self.channel.unacknowledged.notify_one();
        }
    }
}
