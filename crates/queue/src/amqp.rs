//! The queue in RabbitMQ.
//!
//! Two connections, each kept up by a supervisor of ours: one rings and one
//! hears. They are two because a broker that is short of memory or disk blocks
//! whoever publishes, and acknowledgements must get through then.

mod address;
mod consume;
mod link;
mod pace;
mod publish;
mod session;
mod supervise;
mod topology;
mod transport;
mod wire;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{DoorbellListener, Probe, ProbeError};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Settings;

pub(crate) use address::Address;
use consume::AmqpBell;
use link::Link;
use supervise::{Plan, Purpose};
use topology::Topology;
pub(crate) use transport::Transport;

/// No single exchange with the broker may take longer than this: a confirm or
/// an acknowledgement that hangs must not hang its caller.
const DEADLINE: Duration = Duration::from_secs(2);

/// Connecting and declaring is several exchanges, and the broker may be
/// starting.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// The broker's queue, rung and heard over supervised connections.
pub(crate) struct Amqp {
    address: Address,
    transport: Transport,
    topology: Arc<Topology>,
    prefetch: u16,
    ringing: Link,
    /// Connected for the first bell: a process that only rings holds one
    /// connection.
    hearing: OnceLock<Link>,
    /// Where the supervisors run, whichever runtime asks for the bell.
    runtime: Handle,
    supervisors: TaskTracker,
    closed: CancellationToken,
}

impl Amqp {
    /// Starts to connect and returns at once. Needs a tokio runtime around it.
    pub(crate) fn start(address: Address, transport: Transport, settings: &Settings) -> Self {
        let topology = Arc::new(Topology::new(&settings.name, settings.capacity));
        let runtime = Handle::current();
        let supervisors = TaskTracker::new();
        let closed = CancellationToken::new();
        let plan = Plan {
            address: address.clone(),
            transport: transport.clone(),
            topology: Arc::clone(&topology),
            purpose: Purpose::Ring,
        };
        let (ringing, supervisor) = plan.supervised(closed.clone());
        supervisors.spawn_on(supervisor, &runtime);
        Self {
            address,
            transport,
            topology,
            prefetch: settings.prefetch,
            ringing,
            hearing: OnceLock::new(),
            runtime,
            supervisors,
            closed,
        }
    }

    pub(crate) fn bell(&self) -> Box<dyn DoorbellListener> {
        Box::new(AmqpBell::new(
            self.hearing().clone(),
            Arc::clone(&self.topology),
            self.prefetch,
            self.closed.clone(),
        ))
    }

    fn hearing(&self) -> &Link {
        self.hearing.get_or_init(|| {
            let plan = Plan {
                address: self.address.clone(),
                transport: self.transport.clone(),
                topology: Arc::clone(&self.topology),
                purpose: Purpose::Hear,
            };
            let (link, supervisor) = plan.supervised(self.closed.clone());
            self.supervisors.spawn_on(supervisor, &self.runtime);
            link
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
        let Some(line) = self.ringing.line() else {
            return Err(ProbeError("not connected to the broker".to_owned()));
        };
        if self.hearing.get().is_some_and(|link| link.line().is_none()) {
            return Err(ProbeError("not listening to the broker".to_owned()));
        }
        let look = line.look(&self.topology);
        match timeout(DEADLINE, look).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ProbeError(format!("the broker has no queue: {error}"))),
            Err(_) => Err(ProbeError("the broker did not answer in time".to_owned())),
        }
    }
}
