//! One stay at the queue: a channel, its consumer, and the rings it gave.

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

use super::link::Line;
use super::topology::Topology;
use super::{CONNECT_DEADLINE, DEADLINE, wire};

/// One stay at the queue.
pub(super) struct Session {
    consumer: Consumer,
    desk: Arc<Desk>,
    began: Instant,
}

/// What the rings of one session share. The channel lives as long as the last
/// of them, so that a bell may be dropped before its rings are answered.
struct Desk {
    line: Arc<Line>,
    #[expect(dead_code, reason = "held so that the channel stays open")]
    channel: Channel,
    /// A ring was dropped or its acknowledgement failed. The broker gives such
    /// a ring to somebody else only when the channel closes.
    unanswered: Notify,
}

/// Why a session is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionEnd {
    #[error("a ring was left unanswered")]
    Unanswered,
    #[error("the broker cancelled the consumer")]
    Cancelled,
    #[error("the connection is over")]
    LineOver,
    #[error(transparent)]
    Amqp(#[from] lapin::Error),
    #[error(
        "the broker did not answer in time; if that lasts, delete the queue, which holds nothing but ids"
    )]
    Deadline,
    #[error("opening it panicked")]
    Panicked(#[source] JoinError),
}

impl Session {
    /// Opens a session. A line on which that takes too long is given up whole,
    /// and with it what the broker may still make of the try.
    pub(super) async fn open(
        line: Arc<Line>,
        topology: Arc<Topology>,
        prefetch: u16,
    ) -> Result<Self, SessionEnd> {
        let opening = Self::consume(&line, &topology, prefetch);
        let Ok(opened) = timeout(CONNECT_DEADLINE, opening).await else {
            line.report();
            return Err(SessionEnd::Deadline);
        };
        Ok(opened?)
    }

    /// How long it has lived.
    pub(super) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    async fn consume(line: &Arc<Line>, topology: &Topology, prefetch: u16) -> lapin::Result<Self> {
        let channel = line.open_channel().await?;
        // The queue may be the very thing that is missing.
        topology.declare(&channel).await?;
        let qos = BasicQosOptions {
            // The limit counts for this consumer alone; quorum queues know no
            // other kind.
            global: false,
        };
        channel.basic_qos(prefetch, qos).await?;
        let options = BasicConsumeOptions {
            // No effect in RabbitMQ.
            no_local: false,
            // A ring is off the queue when it is answered, not when it is sent.
            no_ack: false,
            // Workers share the queue.
            exclusive: false,
            // Wait for the broker to say that we are consuming.
            nowait: false,
        };
        let consumer = channel
            // An empty tag lets the broker choose one.
            .basic_consume(topology.queue(), "".into(), options, FieldTable::default())
            .await?;
        let desk = Desk {
            line: Arc::clone(line),
            channel,
            unanswered: Notify::new(),
        };
        Ok(Self {
            consumer,
            desk: Arc::new(desk),
            began: Instant::now(),
        })
    }

    /// The next message, or why there will be none in this session.
    pub(super) async fn hear(&mut self) -> Result<Delivery, SessionEnd> {
        tokio::select! {
            biased;
            () = self.desk.line.over.cancelled() => Err(SessionEnd::LineOver),
            () = self.desk.unanswered.notified() => Err(SessionEnd::Unanswered),
            delivery = self.consumer.next() => match delivery {
                Some(Ok(delivery)) => Ok(delivery),
                Some(Err(error)) => Err(SessionEnd::Amqp(error)),
                None => Err(SessionEnd::Cancelled),
            },
        }
    }

    /// The ring in a message. A message that is none is taken off the queue:
    /// it would be as unreadable the next time.
    pub(super) async fn unpack(&self, delivery: Delivery) -> Option<Notification> {
        let answer = Answer {
            acker: delivery.acker,
            desk: Arc::clone(&self.desk),
            is_answered: false,
        };
        match wire::read(&delivery.data) {
            Ok(deliveries) => Some(Notification::new(deliveries, Box::new(answer))),
            Err(error) => {
                let bytes = delivery.data.len();
                warn!(bytes, cause = %error, "dropped a message that is no ring");
                Box::new(answer).acknowledge().await;
                None
            }
        }
    }
}

/// What a ring in hand owes the broker.
struct Answer {
    acker: Acker,
    desk: Arc<Desk>,
    is_answered: bool,
}

#[async_trait]
impl Acknowledge for Answer {
    async fn acknowledge(mut self: Box<Self>) {
        let options = BasicAckOptions {
            // This ring alone, not all before it.
            multiple: false,
        };
        match timeout(DEADLINE, self.acker.ack(options)).await {
            Ok(Ok(true)) => self.is_answered = true,
            // The channel that the ring came through is gone, and lapin knows
            // it. The broker gives the ring to somebody; nothing is left to do.
            Ok(Ok(false)) => {
                debug!("a ring was answered too late; it comes again");
                self.is_answered = true;
            }
            Ok(Err(error)) => debug!(%error, "an answer failed; the ring comes again"),
            Err(_) => {
                debug!("an answer took too long; the ring may come again");
                self.desk.line.report();
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.is_answered {
            self.desk.unanswered.notify_one();
        }
    }
}
