//! Wakes the senders of this process when a send is ready. A send that was recorded by
//! another process, and a notification that got lost, are found by polling.

use tokio::sync::watch;

/// The doorbell of the outbox.
#[derive(Debug, Clone)]
pub struct SendBell(watch::Sender<()>);

impl Default for SendBell {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl SendBell {
    /// Wakes all senders.
    pub fn ring(&self) {
        self.0.send_replace(());
    }

    /// What one sender listens to.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}
