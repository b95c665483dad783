//! When to stop. A server stops cleanly at the first SIGTERM or Ctrl-C and at once
//! at the second. A command that waits finishes its attempt and exits with the
//! code that shells expect.

use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signal that asked the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// SIGINT, as Ctrl-C sends it.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl StopSignal {
    /// The exit code of a command that was stopped by it: 128 plus the signal.
    pub(crate) fn exit(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        })
    }
}

/// The signals that ask the process to stop. From the moment this exists, they no longer
/// end the process directly; one that comes before it is waited for is not lost.
pub(crate) struct StopSignals {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
}

impl StopSignals {
    /// Begins to listen. Where a handler cannot be installed, the signal ends the process
    /// directly.
    pub(crate) fn listen() -> Self {
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
        }
    }

    /// Returns when the process is asked to stop.
    pub(crate) async fn next(&mut self) -> StopSignal {
        tokio::select! {
            () = received(&mut self.terminate) => StopSignal::Terminate,
            () = received(&mut self.interrupt) => StopSignal::Interrupt,
        }
    }
}

async fn received(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => {
            signals.recv().await;
        }
        None => std::future::pending().await,
    }
}
