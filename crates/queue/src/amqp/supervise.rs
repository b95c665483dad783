//! Keeping a connection up.
//!
//! lapin's own recovery is off, because with it a pending confirm hangs until
//! the broker is back, and after sixteen tries it gives up for good. Here any
//! trouble, of whichever kind, ends the line, and a new line is built from
//! nothing: connection, channel, queues.

use std::error::Error;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use lapin::options::ConfirmSelectOptions;
use lapin::{ConnectionProperties, Event};
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::CONNECT_DEADLINE;
use super::address::Address;
use super::link::{Line, Link};
use super::pace::Pace;
use super::topology::Topology;
use super::transport::Transport;

/// How often the supervisor looks for itself, whatever events may say.
const LOOK: Duration = Duration::from_secs(1);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Ring,
    Hear,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Hear => "hear",
        }
    }
}

/// All that is needed to build a line.
pub(super) struct Plan {
    pub(super) address: Address,
    pub(super) transport: Transport,
    pub(super) topology: Arc<Topology>,
    pub(super) purpose: Purpose,
}

/// Why a line is over.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("an exchange on it failed")]
    Trouble,
    #[error("the connection broke")]
    Broken(#[source] lapin::Error),
    #[error("the connection is down")]
    Down,
    #[error("the broker is short of memory or disk and takes nothing")]
    Blocked,
}

/// No line could be built.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error("the broker cannot be reached or refuses us")]
    Amqp(#[from] lapin::Error),
    #[error("the broker did not answer in time")]
    Deadline,
}

impl Plan {
    /// A link and the work that keeps it up until `closed`.
    pub(super) fn supervised(
        self,
        closed: CancellationToken,
    ) -> (Link, impl Future<Output = ()> + Send + 'static) {
        let (up, current) = watch::channel(None);
        (Link::new(current), self.supervise(up, closed))
    }

    async fn supervise(self, up: watch::Sender<Option<Arc<Line>>>, closed: CancellationToken) {
        let mut pace = Pace::default();
        loop {
            let connecting = Box::pin(self.connect());
            let Some(connected) = closed.run_until_cancelled(connecting).await else {
                return;
            };
            match connected {
                Ok(line) => {
                    let began = Instant::now();
                    self.attend(Arc::new(line), &up, &closed).await;
                    pace.lived(began.elapsed());
                }
                Err(error) => self.complain(&error, pace.is_worth_saying()),
            }
            let pause = sleep(pace.wait());
            if closed.run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    }

    async fn connect(&self) -> Result<Line, ConnectError> {
        let name = format!("maillatch {}", self.purpose.as_str());
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let work = async {
            let connection = self.transport.connect(&self.address, properties).await?;
            let channel = connection.create_channel().await?;
            self.topology.declare(&channel).await?;
            if self.purpose == Purpose::Ring {
                // From here on the broker confirms every publish or refuses it.
                let options = ConfirmSelectOptions { nowait: false };
                channel.confirm_select(options).await?;
            }
            Ok(Line::new(connection, channel))
        };
        match timeout(CONNECT_DEADLINE, work).await {
            Ok(connected) => connected,
            Err(_) => Err(ConnectError::Deadline),
        }
    }

    /// Offers the line while it lives and buries it when it is over.
    async fn attend(
        &self,
        line: Arc<Line>,
        up: &watch::Sender<Option<Arc<Line>>>,
        closed: &CancellationToken,
    ) {
        let (broker, purpose) = (&self.address, self.purpose.as_str());
        let mut events = pin!(line.events());
        info!(%broker, purpose, "connected to the broker");
        up.send_replace(Some(Arc::clone(&line)));
        let end = closed
            .run_until_cancelled(end(&line, events.as_mut()))
            .await;
        up.send_replace(None);
        line.over.cancel();
        if let Some(end) = end {
            warn!(%broker, purpose, cause = %Chain(&end), "lost the broker");
            if matches!(end, End::Blocked) {
                let unblocked = unblocked(&line, events.as_mut());
                closed.run_until_cancelled(unblocked).await;
            }
        }
        line.hang_up().await;
    }

    fn complain(&self, error: &ConnectError, aloud: bool) {
        let (broker, purpose, cause) = (&self.address, self.purpose.as_str(), Chain(error));
        if aloud {
            warn!(%broker, purpose, %cause, "the broker is away");
        } else {
            debug!(%broker, purpose, %cause, "the broker is away");
        }
    }
}

/// Returns when the line is over, and why it is.
async fn end<E: Stream<Item = Event>>(line: &Line, mut events: Pin<&mut E>) -> End {
    let mut look = interval(LOOK);
    loop {
        tokio::select! {
            () = line.reported() => return End::Trouble,
            event = events.next() => match event {
                Some(Event::Error(error)) => return End::Broken(error),
                Some(Event::ConnectionBlocked(_)) => return End::Blocked,
                Some(_) => {}
                None => return End::Down,
            },
            _ = look.tick() => {
                if !line.is_connected() {
                    return End::Down;
                }
            }
        }
    }
}

/// Returns when a blocked broker takes messages again or the connection ends.
/// Connecting anew before that would only be blocked anew.
async fn unblocked<E: Stream<Item = Event>>(line: &Line, mut events: Pin<&mut E>) {
    let mut look = interval(LOOK);
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Event::ConnectionUnblocked | Event::Error(_)) | None => return,
                Some(_) => {}
            },
            _ = look.tick() => {
                if !line.is_connected() {
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
