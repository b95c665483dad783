//! What an operator can set.

use std::path::PathBuf;

use pipeline::Tasks;
use secrecy::SecretString;

/// Where the queue is and how much it holds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The broker, as `amqp://user:password@host:5672/vhost` or `amqps://…`;
    /// `None` for a queue inside this process.
    pub url: Option<SecretString>,
    /// Certificates in PEM that `amqps` trusts besides the machine's own.
    pub ca_file: Option<PathBuf>,
    /// The name of the queue in the broker. Every process of one installation
    /// uses the same name, two installations on one broker use two.
    pub name: String,
    /// How many unacknowledged notifications one consumer holds. With few of them, the
    /// consumer waits for the broker between mails. A crash of the consumer counts as one
    /// more delivery for all of them.
    pub prefetch: u16,
    /// How many notifications the queue holds before it refuses more; the deliveries then
    /// wait in the database. A queue that already exists in the broker keeps the
    /// capacity it was declared with. To change it, delete the queue or use another
    /// name.
    pub capacity: u32,
    /// Where restarts of this crate's tasks are counted.
    pub tasks: Tasks,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: None,
            ca_file: None,
            name: "maillatch".to_owned(),
            prefetch: 64,
            capacity: 10_000,
            tasks: Tasks::default(),
        }
    }
}
