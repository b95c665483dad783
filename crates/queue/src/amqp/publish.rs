//! Ringing: publish, and believe it only when the broker says it is stored.

use async_trait::async_trait;
use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Channel, Confirmation};
use pipeline::{DeliveryId, Doorbell, QueueError};
use tokio::time::timeout;

use super::link::Line;
use super::topology::Topology;
use super::{Amqp, DEADLINE, wire};

/// Persistent: the broker writes the message to disk.
const PERSISTENT: u8 = 2;

/// Why a ring did not get through to the broker.
#[derive(Debug, thiserror::Error)]
enum RingError {
    #[error("not connected to the broker")]
    NotConnected,
    #[error("the connection ended before the broker confirmed")]
    LineOver,
    #[error("the broker did not confirm in time")]
    Deadline,
    #[error("the broker does not confirm at all")]
    NotConfirming,
    #[error("the ring could not be written")]
    Unwritable(#[source] serde_json::Error),
    #[error("the broker failed")]
    Amqp(#[source] lapin::Error),
}

impl From<RingError> for QueueError {
    fn from(error: RingError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl Doorbell for Amqp {
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        if deliveries.is_empty() {
            return Ok(());
        }
        let line = self.ringing.line().ok_or(RingError::NotConnected)?;
        let message = wire::write(deliveries).map_err(RingError::Unwritable)?;
        let confirmed = confirm(&line, &self.topology, &message).await;
        let confirmation = confirmed.inspect_err(|_| line.report())?;
        judge(&line, &confirmation)
    }
}

/// Publishes and waits for the confirm, but no longer than the line lives and
/// no longer than the deadline.
async fn confirm(
    line: &Line,
    topology: &Topology,
    message: &[u8],
) -> Result<Confirmation, RingError> {
    let publishing = publish(&line.channel, topology, message);
    tokio::select! {
        done = timeout(DEADLINE, publishing) => match done {
            Ok(confirmation) => confirmation.map_err(RingError::Amqp),
            Err(_) => Err(RingError::Deadline),
        },
        () = line.over.cancelled() => Err(RingError::LineOver),
    }
}

async fn publish(
    channel: &Channel,
    topology: &Topology,
    message: &[u8],
) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions {
        // Give it back if no queue takes it. Without this the broker confirms
        // a message that it has thrown away.
        mandatory: true,
        // RabbitMQ has not supported this since 3.0.
        immediate: false,
    };
    let properties = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_delivery_mode(PERSISTENT);
    channel
        // The default exchange, which routes by the queue's name.
        .basic_publish("".into(), topology.queue(), options, message, properties)
        .await?
        .await
}

/// A ring is taken if the broker acknowledges it and does not give it back.
fn judge(line: &Line, confirmation: &Confirmation) -> Result<(), QueueError> {
    match confirmation {
        Confirmation::Ack(None) => Ok(()),
        Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => {
            // The next line declares the queue again.
            line.report();
            Err(QueueError::Refused("the broker has no such queue"))
        }
        Confirmation::Nack(None) => Err(QueueError::Refused("it is full")),
        Confirmation::NotRequested => {
            line.report();
            Err(RingError::NotConfirming.into())
        }
    }
}
