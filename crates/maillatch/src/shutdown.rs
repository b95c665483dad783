//! When to stop: the first SIGTERM or Ctrl-C begins a clean end, the second ends
//! at once.

use tokio::signal::unix::{SignalKind, signal};

/// Returns when the process was asked to stop.
pub(crate) async fn requested() {
    tokio::select! {
        () = heard(SignalKind::terminate()) => {}
        () = heard(SignalKind::interrupt()) => {}
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
