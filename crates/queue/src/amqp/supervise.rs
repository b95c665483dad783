//! Keeps a connection up.
//!
//! lapin's own recovery is off: with it a pending confirm hangs until the broker is
//! available again, and after sixteen tries it gives up for good. Here any failure
//! ends the connection, and a new one is built: connection, channel, queues.

use std::error::Error;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use lapin::options::ConfirmSelectOptions;
use lapin::{ConnectionProperties, Event};
use pipeline::Tasks;
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::CONNECT_DEADLINE;
use super::address::Address;
use super::connection::{CurrentConnection, LastFailure, LiveConnection};
use super::reconnect_backoff::ReconnectBackoff;
use super::topology::Topology;
use super::transport::Transport;

/// How often the supervisor checks the connection, in addition to lapin's events.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Publish,
    Consume,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Consume => "consume",
        }
    }
}

/// What is needed to connect.
pub(super) struct Plan {
    pub(super) address: Address,
    pub(super) transport: Transport,
    pub(super) topology: Arc<Topology>,
    pub(super) purpose: Purpose,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum ConnectionEnd {
    #[error("an exchange with the broker failed")]
    ExchangeFailed,
    #[error("the connection broke")]
    Broken(#[source] lapin::Error),
    #[error("the connection is down")]
    Down,
    #[error("the broker is short of memory or disk and blocks publishers")]
    Blocked,
}

/// The broker could not be connected to.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error("the broker cannot be reached or refused the connection")]
    Amqp(#[from] lapin::Error),
    #[error("the broker did not answer in time")]
    Deadline,
}

impl ConnectError {
    /// The cause in a sentence that has nothing of the address.
    fn in_words(&self) -> &'static str {
        let text = match self {
            Self::Deadline => return "it accepts connections and does not answer",
            Self::Amqp(_) => Chain(self).to_string().to_lowercase(),
        };
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["access_refused", "access-refused", "login was refused"]) {
            "it does not accept the user or the password"
        } else if has(&["not_allowed", "not-allowed", "vhost"]) {
            "it does not have the virtual host, or the user may not use it"
        } else if has(&["connection refused"]) {
            "nothing listens at its host and port"
        } else if has(&["certificate", "tls", "handshake"]) {
            "TLS failed; check its certificate, queue.ca_file, and amqp or amqps"
        } else if has(&["lookup", "resolve", "name or service"]) {
            "its host name is not known"
        } else {
            "it cannot be reached, or ends the connection"
        }
    }
}

impl Plan {
    /// A handle to the connection, and the task that keeps it up until `closed`.
    pub(super) fn supervised(
        self,
        closed: CancellationToken,
        tasks: Tasks,
    ) -> (CurrentConnection, impl Future<Output = ()> + Send + 'static) {
        let (up, current) = watch::channel(None);
        let failure = LastFailure::default();
        let current = CurrentConnection::new(current, Arc::clone(&failure));
        let supervisor = async move {
            let start = || {
                up.send_replace(None);
                self.supervise(&up, &failure, &closed)
            };
            tasks.keep_running("broker connection", sleep, start).await;
        };
        (current, supervisor)
    }

    async fn supervise(
        &self,
        up: &watch::Sender<Option<Arc<LiveConnection>>>,
        failure: &LastFailure,
        closed: &CancellationToken,
    ) {
        let mut backoff = ReconnectBackoff::default();
        loop {
            let connecting = Box::pin(self.connect());
            let Some(connected) = closed.run_until_cancelled(connecting).await else {
                return;
            };
            match connected {
                Ok(connection) => {
                    let began = Instant::now();
                    self.offer(Arc::new(connection), up, closed).await;
                    backoff.connection_lasted(began.elapsed());
                }
                Err(error) => {
                    let mut last = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    *last = Some(error.in_words());
                    drop(last);
                    self.log_failure(&error, backoff.should_warn());
                }
            }
            let pause = sleep(backoff.next_wait());
            if closed.run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    }

    async fn connect(&self) -> Result<LiveConnection, ConnectError> {
        let name = format!("maillatch {}", self.purpose.as_str());
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let work = async {
            let connection = self.transport.connect(&self.address, properties).await?;
            let channel = connection.create_channel().await?;
            self.topology.declare(&channel).await?;
            if self.purpose == Purpose::Publish {
                // From now on the broker confirms or refuses every publish.
                let options = ConfirmSelectOptions { nowait: false };
                channel.confirm_select(options).await?;
            }
            Ok(LiveConnection::new(connection, channel))
        };
        match timeout(CONNECT_DEADLINE, work).await {
            Ok(connected) => connected,
            Err(_) => Err(ConnectError::Deadline),
        }
    }

    /// Offers the connection while it lives, and closes it when it ends.
    async fn offer(
        &self,
        connection: Arc<LiveConnection>,
        up: &watch::Sender<Option<Arc<LiveConnection>>>,
        closed: &CancellationToken,
    ) {
        let (broker, purpose) = (&self.address, self.purpose.as_str());
        let mut events = pin!(connection.events());
        info!(%broker, purpose, "connected to the broker");
        up.send_replace(Some(Arc::clone(&connection)));
        let end = closed
            .run_until_cancelled(wait_for_end(&connection, events.as_mut()))
            .await;
        up.send_replace(None);
        connection.ended.cancel();
        if let Some(end) = end {
            warn!(%broker, purpose, cause = %Chain(&end), "lost the connection to the broker");
            if matches!(end, ConnectionEnd::Blocked) {
                let unblocked = unblocked(&connection, events.as_mut());
                closed.run_until_cancelled(unblocked).await;
            }
        }
        connection.close().await;
    }

    fn log_failure(&self, error: &ConnectError, is_warning: bool) {
        let (broker, purpose, cause) = (&self.address, self.purpose.as_str(), Chain(error));
        if is_warning {
            warn!(%broker, purpose, %cause, "the broker is unavailable");
        } else {
            debug!(%broker, purpose, %cause, "the broker is unavailable");
        }
    }
}

/// Returns when the connection has ended, and why.
async fn wait_for_end<E: Stream<Item = Event>>(
    connection: &LiveConnection,
    mut events: Pin<&mut E>,
) -> ConnectionEnd {
    let mut check = interval(CHECK_EVERY);
    loop {
        tokio::select! {
            () = connection.failure_reported() => return ConnectionEnd::ExchangeFailed,
            event = events.next() => match event {
                Some(Event::Error(error)) => return ConnectionEnd::Broken(error),
                Some(Event::ConnectionBlocked(_)) => return ConnectionEnd::Blocked,
                Some(_) => {}
                None => return ConnectionEnd::Down,
            },
            _ = check.tick() => {
                if !connection.is_connected() {
                    return ConnectionEnd::Down;
                }
            }
        }
    }
}

/// Returns when a blocked broker accepts messages again or the connection ends. A new
/// connection before that would be blocked too.
async fn unblocked<E: Stream<Item = Event>>(connection: &LiveConnection, mut events: Pin<&mut E>) {
    let mut check = interval(CHECK_EVERY);
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Event::ConnectionUnblocked | Event::Error(_)) | None => return,
                Some(_) => {}
            },
            _ = check.tick() => {
                if !connection.is_connected() {
                    return;
                }
            }
        }
    }
}

/// An error and its causes on one line.
struct Chain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
