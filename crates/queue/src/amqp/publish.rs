//! Publishes a notification. It counts as sent only when the broker confirms that it is stored.

use async_trait::async_trait;
use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Channel, Confirmation};
use pipeline::{DeliveryId, Doorbell, QueueError};
use tokio::time::timeout;

use super::connection::LiveConnection;
use super::topology::Topology;
use super::{Amqp, DEADLINE, wire};

/// Persistent: the broker writes the message to disk.
const PERSISTENT: u8 = 2;

/// Why the broker did not take a notification.
#[derive(Debug, thiserror::Error)]
enum NotifyError {
    #[error("not connected to the broker")]
    NotConnected,
    #[error("the connection ended before the broker confirmed")]
    ConnectionEnded,
    #[error("the broker did not confirm in time")]
    Deadline,
    #[error("the broker does not confirm publishes")]
    NotConfirming,
    #[error("the notification could not be serialized")]
    Serialize(#[source] serde_json::Error),
    #[error("the broker failed")]
    Amqp(#[source] lapin::Error),
}

impl From<NotifyError> for QueueError {
    fn from(error: NotifyError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl Doorbell for Amqp {
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        if deliveries.is_empty() {
            return Ok(());
        }
        let connection = self.publishing.get().ok_or(NotifyError::NotConnected)?;
        let message = wire::write(deliveries).map_err(NotifyError::Serialize)?;
        let confirmed = confirm(&connection, &self.topology, &message).await;
        let confirmation = confirmed.inspect_err(|_| connection.report_failure())?;
        check(&connection, &confirmation)
    }
}

/// Publishes and waits for the confirm, until the connection ends or the deadline
/// passes.
async fn confirm(
    connection: &LiveConnection,
    topology: &Topology,
    message: &[u8],
) -> Result<Confirmation, NotifyError> {
    let publishing = publish(&connection.channel, topology, message);
    tokio::select! {
        done = timeout(DEADLINE, publishing) => match done {
            Ok(confirmation) => confirmation.map_err(NotifyError::Amqp),
            Err(_) => Err(NotifyError::Deadline),
        },
        () = connection.ended.cancelled() => Err(NotifyError::ConnectionEnded),
    }
}

async fn publish(
    channel: &Channel,
    topology: &Topology,
    message: &[u8],
) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions {
        // Return the message if no queue takes it. Without this the broker confirms
        // a message that it has dropped.
        mandatory: true,
        // RabbitMQ has not supported this since 3.0.
        immediate: false,
    };
    let properties = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_delivery_mode(PERSISTENT);
    channel
        // The default exchange routes by the queue's name.
        .basic_publish("".into(), topology.queue(), options, message, properties)
        .await?
        .await
}

/// The broker has taken a notification if it confirms it and does not return it.
fn check(connection: &LiveConnection, confirmation: &Confirmation) -> Result<(), QueueError> {
    match confirmation {
        Confirmation::Ack(None) => Ok(()),
        Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => {
            // The next connection declares the queue again.
            connection.report_failure();
            Err(QueueError::Refused("the broker has no such queue"))
        }
        Confirmation::Nack(None) => Err(QueueError::Refused("it is full")),
        Confirmation::NotRequested => {
            connection.report_failure();
            Err(NotifyError::NotConfirming.into())
        }
    }
}
