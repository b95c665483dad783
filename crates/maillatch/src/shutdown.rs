//! When to stop. For a process that serves, the first SIGTERM or Ctrl-C begins a
//! clean end and the second ends at once; a command that waits puts away what it
//! has open, and ends with the code that shells expect.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

/// Which signal asked the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// SIGINT, as Ctrl-C sends it.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Asked {
    /// What a command ends with that was stopped like this: 128 and the signal.
    pub(crate) fn exit(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        })
    }
}

/// Returns when the process was asked to stop.
pub(crate) async fn requested() -> Asked {
    tokio::select! {
        () = heard(SignalKind::terminate()) => Asked::Terminate,
        () = heard(SignalKind::interrupt()) => Asked::Interrupt,
    }
}

async fn heard(kind: SignalKind) {
    match signal(kind) {
        Ok(mut stream) => {
            stream.recv().await;
        }
        // Without a handler the signal ends the process by itself.
        Err(_) => std::future::pending().await,
    }
}
