//! What an operator can set.

use std::path::PathBuf;

use secrecy::SecretString;

/// Where the queue is and how much it holds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The broker, as `amqp://user:password@host:5672/vhost` or `amqps://…`;
    /// `None` for a queue inside this process.
    pub url: Option<SecretString>,
    /// Certificates in PEM that `amqps` trusts besides the machine's.
    pub ca_file: Option<PathBuf>,
    /// The name of the queue in the broker. Every process of one installation
    /// uses the same name, two installations on one broker use two.
    pub name: String,
    /// How many unanswered rings one bell holds at a time. Small, since all of
    /// them count as tried once more when their holder crashes.
    pub prefetch: u16,
    /// How many rings the queue holds before it refuses more; the rows wait in
    /// the database then. A queue that exists in the broker keeps the capacity
    /// it was declared with: delete it or choose another name to change this.
    pub capacity: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: None,
            ca_file: None,
            name: "maillatch".to_owned(),
            prefetch: 4,
            capacity: 10_000,
        }
    }
}
