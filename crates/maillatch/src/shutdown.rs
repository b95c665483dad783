//! When to stop. A server stops cleanly at the first SIGTERM or Ctrl-C and at once
//! at the second. A command that waits finishes its attempt and exits with the
//! code that shells expect.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

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

/// Returns when the process is asked to stop.
pub(crate) async fn requested() -> StopSignal {
    tokio::select! {
        () = received(SignalKind::terminate()) => StopSignal::Terminate,
        () = received(SignalKind::interrupt()) => StopSignal::Interrupt,
    }
}

async fn received(kind: SignalKind) {
    match signal(kind) {
        Ok(mut stream) => {
            stream.recv().await;
        }
        // Without a handler the signal ends the process directly.
        Err(_) => std::future::pending().await,
    }
}
