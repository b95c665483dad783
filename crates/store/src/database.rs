//! An open database, whichever of the two it is.

use std::sync::Arc;
use std::time::Duration;

use pipeline::StoreError;

use crate::backend::{Backend, Transaction};
use crate::fault::Fault;
use crate::settings::Secrets;
use crate::uncancelled::Uncancelled;
use crate::watches::Watches;

/// An open database. The seams of the pipeline are implemented on it, one file for
/// each subject.
pub(crate) struct Database<B> {
    pub(crate) session: Session<B>,
    pub(crate) work: Uncancelled,
}

/// What a unit of work needs; cheap to clone into its task.
pub(crate) struct Session<B> {
    pub(crate) backend: Arc<B>,
    pub(crate) secrets: Secrets,
    pub(crate) watches: Watches,
}

impl<B> Clone for Session<B> {
    fn clone(&self) -> Self {
        Self {
            backend: Arc::clone(&self.backend),
            secrets: self.secrets.clone(),
            watches: self.watches.clone(),
        }
    }
}

impl<B: Backend> Database<B> {
    pub(crate) fn over(backend: B, secrets: Secrets, watches: Watches) -> Self {
        Self {
            session: Session {
                backend: Arc::new(backend),
                secrets,
                watches,
            },
            work: Uncancelled::here(),
        }
    }

    /// Runs a unit of work to its end and waits for it until the timeout.
    pub(crate) async fn run<T, F, W>(&self, timeout: Duration, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(Session<B>) -> W,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        self.work.run(timeout, work(self.session.clone())).await
    }

    /// Waits for the units of work that have begun, then closes every connection.
    pub(crate) async fn close(&self) {
        self.work.finish().await;
        self.session.backend.close().await;
    }
}

impl<B: Backend> Session<B> {
    /// Begins a transaction that writes.
    pub(crate) async fn begin(&self) -> Result<Transaction<B>, Fault> {
        Transaction::begin(&*self.backend).await
    }

    /// Lends a connection for statements that each commit by themselves.
    pub(crate) async fn writer(&self) -> Result<B::Lent, Fault> {
        Ok(self.backend.lend_writer().await?)
    }

    /// Lends a connection that only reads.
    pub(crate) async fn reader(&self) -> Result<B::Lent, Fault> {
        Ok(self.backend.lend_reader().await?)
    }

    /// Wakes the watchers of an inbox after a commit, if the database did not: the
    /// statement has a `pg_notify` in Postgres, which reaches all processes.
    pub(crate) fn announce(&self, inbox: &str) {
        if !B::NOTIFIES {
            self.watches.wake(inbox);
        }
    }
}
