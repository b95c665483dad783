//! The two queues, declared by every session so that a broker that lost them
//! gets them back. Every argument is written out, since their defaults differ
//! between RabbitMQ 3.10 and 4.x.
//!
//! Reference: <https://www.rabbitmq.com/docs/quorum-queues>.

use lapin::Channel;
use lapin::options::QueueDeclareOptions;
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};

/// How often a ring may come back unanswered before it is set aside. It takes
/// as many crashes of a worker; the delivery's own attempts end long before.
const DELIVERY_LIMIT: i32 = 20;

/// How many set-aside rings are kept for the operator to look at.
const DEAD_CAPACITY: i32 = 10_000;

/// The queue that is rung and the queue of rings that were set aside.
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

    /// The queue's name, which is also the routing key to it: the default
    /// exchange leads to every queue by its name and cannot be deleted.
    pub(super) fn queue(&self) -> ShortString {
        self.queue.clone()
    }

    /// Declares both queues. Harmless where they exist; an error, which closes
    /// the channel, where they exist with other arguments.
    pub(super) async fn declare(&self, channel: &Channel) -> lapin::Result<()> {
        let options = QueueDeclareOptions {
            // Create it if it is missing.
            passive: false,
            // Survive a restart of the broker; quorum queues always do.
            durable: true,
            // Every process rings and hears the same queue.
            exclusive: false,
            // Rings wait while no worker runs.
            auto_delete: false,
            // Wait for the broker to say that it is there.
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

    /// Asks whether the queue is there. If not, the error closes the channel.
    pub(super) async fn look(&self, channel: &Channel) -> lapin::Result<()> {
        let options = QueueDeclareOptions {
            // Only ask; the other options are not compared then.
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
            // Replicated and fsynced before it confirms; a classic queue
            // confirms what a power cut can still take away.
            ("x-queue-type", text("quorum")),
            // Explicit, since 3.x has no limit and 4.x has 20.
            ("x-delivery-limit", AMQPValue::LongInt(DELIVERY_LIMIT)),
            // Where rings over the limit go. Without it, they are dropped: also
            // innocent ones that a crashing worker merely held at the time.
            ("x-dead-letter-exchange", text("")),
            ("x-dead-letter-routing-key", text(self.dead.as_str())),
            // The default may lose a ring on its way to the other queue.
            ("x-dead-letter-strategy", text("at-least-once")),
            // Bounded, since the sweeper rings again for rows that wait: with
            // no worker running, an unbounded queue would grow for ever.
            ("x-max-length", AMQPValue::LongInt(self.capacity)),
            // A full queue refuses the newest ring, aloud, instead of dropping
            // the oldest in silence. The dead-letter strategy needs it too.
            ("x-overflow", text("reject-publish")),
        ])
    }

    fn dead_arguments() -> FieldTable {
        table([
            // As safe as the queue it belongs to.
            ("x-queue-type", text("quorum")),
            // Nobody consumes it, so it must have an end.
            ("x-max-length", AMQPValue::LongInt(DEAD_CAPACITY)),
            // The newest are the interesting ones, and refusing them would hold
            // them in the first queue.
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
