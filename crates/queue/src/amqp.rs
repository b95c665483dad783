//! The queue in RabbitMQ.
//!
//! There are two connections, each kept up by its own supervisor: one publishes and
//! one consumes. A broker that is short of memory or disk blocks a connection that
//! publishes, and acknowledgements must still get through then.

mod address;
mod connection;
mod consume;
mod publish;
mod reconnect_backoff;
mod session;
mod supervise;
mod topology;
mod transport;
mod wire;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{DoorbellListener, Probe, ProbeError, Tasks};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::settings::Settings;

pub(crate) use address::Address;
use connection::CurrentConnection;
use consume::AmqpListener;
use supervise::{Plan, Purpose};
use topology::Topology;
pub(crate) use transport::Transport;

/// The deadline of one exchange with the broker. A confirm or an acknowledgement that
/// hangs must not block its caller.
const DEADLINE: Duration = Duration::from_secs(2);

/// The deadline for connecting and declaring the queues, which takes several
/// exchanges.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// The queue in the broker, over supervised connections.
pub(crate) struct Amqp {
    address: Address,
    transport: Transport,
    topology: Arc<Topology>,
    prefetch: u16,
    publishing: CurrentConnection,
    /// Connected when the first consumer is made. A process that only publishes has
    /// one connection.
    consuming: OnceLock<CurrentConnection>,
    /// The runtime of the supervisors, whichever runtime makes a consumer.
    runtime: Handle,
    supervisors: TaskTracker,
    closed: CancellationToken,
    tasks: Tasks,
}

impl Amqp {
    /// Starts to connect and returns at once. Must be called in a tokio runtime.
    pub(crate) fn start(address: Address, transport: Transport, settings: &Settings) -> Self {
        let topology = Arc::new(Topology::new(&settings.name, settings.capacity));
        let runtime = Handle::current();
        let supervisors = TaskTracker::new();
        let closed = CancellationToken::new();
        let plan = Plan {
            address: address.clone(),
            transport: transport.clone(),
            topology: Arc::clone(&topology),
            purpose: Purpose::Publish,
        };
        let (publishing, supervisor) = plan.supervised(closed.clone(), settings.tasks.clone());
        supervisors.spawn_on(supervisor, &runtime);
        Self {
            address,
            transport,
            topology,
            prefetch: settings.prefetch,
            publishing,
            consuming: OnceLock::new(),
            runtime,
            supervisors,
            closed,
            tasks: settings.tasks.clone(),
        }
    }

    pub(crate) fn bell(&self) -> Box<dyn DoorbellListener> {
        Box::new(AmqpListener::new(
            self.consuming().clone(),
            Arc::clone(&self.topology),
            self.prefetch,
            self.closed.clone(),
        ))
    }

    fn consuming(&self) -> &CurrentConnection {
        self.consuming.get_or_init(|| {
            let plan = Plan {
                address: self.address.clone(),
                transport: self.transport.clone(),
                topology: Arc::clone(&self.topology),
                purpose: Purpose::Consume,
            };
            let (current, supervisor) = plan.supervised(self.closed.clone(), self.tasks.clone());
            self.supervisors.spawn_on(supervisor, &self.runtime);
            current
        })
    }

    pub(crate) async fn close(&self) {
        self.closed.cancel();
        self.supervisors.close();
        self.supervisors.wait().await;
    }
}

#[async_trait]
impl Probe for Amqp {
    fn name(&self) -> &'static str {
        "queue"
    }

    async fn probe(&self) -> Result<(), ProbeError> {
        let Some(connection) = self.publishing.get() else {
            let why = self.publishing.failure();
            return Err(ProbeError(format!("not connected to the broker: {why}")));
        };
        if self
            .consuming
            .get()
            .is_some_and(|current| current.get().is_none())
        {
            return Err(ProbeError("not consuming from the broker".to_owned()));
        }
        let check = connection.check_queue(&self.topology);
        match timeout(DEADLINE, check).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ProbeError(format!(
                "the broker does not have the queue: {error}"
            ))),
            Err(_) => Err(ProbeError("the broker did not answer in time".to_owned())),
        }
    }
}
