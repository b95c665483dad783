//! Hearing: a consumer that is built again whenever it ends.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Acker, Channel, Consumer};
use pipeline::{Acknowledge, Bell, Ring};
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::link::{Line, Link};
use super::pace::Pace;
use super::topology::Topology;
use super::{CONNECT_DEADLINE, DEADLINE, wire};

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

/// One stay at the queue.
struct Session {
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
enum SessionEnd {
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
    async fn hear(&mut self) -> Ring {
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
            let opening = open(line, Arc::clone(&self.topology), self.prefetch);
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
            self.pace.lived(session.began.elapsed());
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
impl Bell for AmqpBell {
    async fn next(&mut self) -> Option<Ring> {
        let closed = self.closed.clone();
        closed.run_until_cancelled(self.hear()).await
    }
}

/// Opens a session. A line on which that takes too long is given up whole, and
/// with it what the broker may still make of the try.
async fn open(
    line: Arc<Line>,
    topology: Arc<Topology>,
    prefetch: u16,
) -> Result<Session, SessionEnd> {
    let opening = Session::open(&line, &topology, prefetch);
    let Ok(opened) = timeout(CONNECT_DEADLINE, opening).await else {
        line.report();
        return Err(SessionEnd::Deadline);
    };
    Ok(opened?)
}

impl Session {
    async fn open(line: &Arc<Line>, topology: &Topology, prefetch: u16) -> lapin::Result<Self> {
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

    async fn hear(&mut self) -> Result<Delivery, SessionEnd> {
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
    async fn unpack(&self, delivery: Delivery) -> Option<Ring> {
        let answer = Answer {
            acker: delivery.acker,
            desk: Arc::clone(&self.desk),
            is_answered: false,
        };
        match wire::read(&delivery.data) {
            Ok(deliveries) => Some(Ring::new(deliveries, Box::new(answer))),
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
