//! The two queues. Every session declares them, so that a broker that lost them gets
//! them back. Every argument is explicit, because defaults differ between RabbitMQ
//! 3.10 and 4.x.
//!
//! Reference: <https://www.rabbitmq.com/docs/quorum-queues>.

use lapin::Channel;
use lapin::options::QueueDeclareOptions;
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};

/// How often a notification may be redelivered before it is dead-lettered. That takes as many
/// crashes of a worker that held it, perhaps because of other mails. Its deliveries are still
/// found in the database.
const DELIVERY_LIMIT: i32 = 20;

/// How many dead-lettered notifications are kept for the operator.
const DEAD_CAPACITY: i32 = 10_000;

/// The queue of notifications and the queue of dead-lettered notifications.
#[derive(Debug)]
pub(super) struct Topology {
    queue: ShortString,
    dead: ShortString,
    capacity: i32,
}

impl Topology {
    pub(super) fn new(name: &str, capacity: u32) -> Self {
        Self {
            queue: name.into(),
            dead: format!("{name}.dead").into(),
            capacity: i32::try_from(capacity).unwrap_or(i32::MAX),
        }
    }

    /// The queue's name, which is also its routing key: the default exchange routes to
    /// every queue by name and cannot be deleted.
    pub(super) fn queue(&self) -> ShortString {
        self.queue.clone()
    }

    /// Declares both queues. Does nothing if they exist. If they exist with other
    /// arguments, returns an error, and the broker closes the channel.
    pub(super) async fn declare(&self, channel: &Channel) -> lapin::Result<()> {
        let options = QueueDeclareOptions {
            // Create it if it is missing.
            passive: false,
            // Survive a restart of the broker; quorum queues always do.
            durable: true,
            // Every process uses the same queue.
            exclusive: false,
            // Notifications wait while no worker runs.
            auto_delete: false,
            // Wait for the broker's answer.
            nowait: false,
        };
        channel
            .queue_declare(self.dead.clone(), options, Self::dead_arguments())
            .await?;
        channel
            .queue_declare(self.queue.clone(), options, self.arguments())
            .await?;
        Ok(())
    }

    /// Checks that the queue exists. If not, the broker closes the channel.
    pub(super) async fn check(&self, channel: &Channel) -> lapin::Result<()> {
        let options = QueueDeclareOptions {
            // Only check; the other options are not compared then.
            passive: true,
            ..QueueDeclareOptions::default()
        };
        channel
            .queue_declare(self.queue.clone(), options, FieldTable::default())
            .await?;
        Ok(())
    }

    fn arguments(&self) -> FieldTable {
        table([
            // Replicated and fsynced before the confirm. A classic queue confirms
            // what a power failure can still lose.
            ("x-queue-type", text("quorum")),
            // Explicit, since 3.x has no limit and 4.x has 20.
            ("x-delivery-limit", AMQPValue::LongInt(DELIVERY_LIMIT)),
            // Where notifications over the limit go. Without it they are dropped, also those
            // that a crashing worker merely held at the time.
            ("x-dead-letter-exchange", text("")),
            ("x-dead-letter-routing-key", text(self.dead.as_str())),
            // The default may lose a notification on its way to the other queue.
            ("x-dead-letter-strategy", text("at-least-once")),
            // Bounded, because the sweeper notifies workers again of waiting rows: without a
            // worker, an unbounded queue would grow without limit.
            ("x-max-length", AMQPValue::LongInt(self.capacity)),
            // A full queue refuses the newest notification with a nack instead of silently
            // dropping the oldest. The dead-letter strategy requires this.
            ("x-overflow", text("reject-publish")),
        ])
    }

    fn dead_arguments() -> FieldTable {
        table([
            // As durable as the queue it belongs to.
            ("x-queue-type", text("quorum")),
            // Nobody consumes it, so it must be bounded.
            ("x-max-length", AMQPValue::LongInt(DEAD_CAPACITY)),
            // Keep the newest. Refusing them would keep them in the first queue.
            ("x-overflow", text("drop-head")),
        ])
    }
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(value))
}

fn table<const N: usize>(arguments: [(&str, AMQPValue); N]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in arguments {
        table.insert(name.into(), value);
    }
    table
}
