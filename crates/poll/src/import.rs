//! Imports files once, through the same rounds as polling.

use std::path::PathBuf;
use std::time::Duration;

use pipeline::{Leased, SourceName, StoreError};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::client::PollError;
use crate::deps::Deps;
use crate::provider::folder::Folder;
use crate::source_loop::round::{HeldLease, Stop, Tally, round};

/// What to import.
#[derive(Debug, Clone)]
pub struct Import {
    /// The source to record the mails under.
    pub source: SourceName,
    /// Files, Maildirs, and folders of `.eml` files with their subfolders.
    pub paths: Vec<PathBuf>,
    /// The recipients of all mails; if empty, the mails' own headers name them.
    pub deliver_to: Vec<String>,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// Mails that were read.
    pub mails: u64,
    /// Deliveries that were recorded; the other mails were known or too large.
    pub recorded: u64,
    /// Mails over the size limit, which were not imported.
    pub too_large: u64,
}

/// The import was not completed. Recorded mails stay; importing the same files again
/// continues from there.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or folder cannot be read.
    #[error("the files cannot be read")]
    Unreadable,
    /// Another import into the same source is running.
    #[error("another import into this source is running")]
    AlreadyRunning,
    /// The database is unavailable.
    #[error("the database is unavailable")]
    Store(#[source] StoreError),
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Stop> for ImportError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Source(_) | Stop::Mail(_) => Self::Unreadable,
            Stop::Lost => Self::AlreadyRunning,
            Stop::StoreUnavailable(error) => Self::Store(error),
        }
    }
}

impl From<PollError> for ImportError {
    fn from(_: PollError) -> Self {
        Self::Unreadable
    }
}

impl Import {
    /// Imports all files. `progress` is called with the mails done and their total.
    pub async fn run(
        self,
        deps: &Deps,
        mut progress: impl FnMut(u64, u64) + Send,
    ) -> Result<Imported, ImportError> {
        let limit = deps.settings.message_limit;
        let mut folder = Folder::imported(self.paths, self.deliver_to, limit);
        let total = folder.count().await? as u64;
        let mut lease = take_lease(deps, &self.source).await?;
        // The cursor of an earlier import does not apply to these files.
        lease.lease.cursor.clear();
        let nobody = Notify::new();
        let mut imported = Imported {
            mails: 0,
            recorded: 0,
            too_large: 0,
        };
        loop {
            let before = imported.mails;
            let mut note = |tally: &Tally| progress((before + tally.listed).min(total), total);
            let tally = round(deps, &mut folder, &mut lease, &nobody, &mut note).await?;
            imported.mails += tally.listed;
            imported.recorded += tally.recorded;
            imported.too_large += tally.too_large;
            if !tally.is_incomplete {
                break;
            }
        }
        deps.polls.release(&lease.lease).await?;
        Ok(imported)
    }
}

/// Takes the lease; waits briefly, in case an import has just ended.
async fn take_lease(deps: &Deps, source: &SourceName) -> Result<HeldLease, ImportError> {
    for _ in 0..3 {
        let lease = deps.polls.lease(source, deps.poller, deps.settings.lease);
        if let Leased::Yours(lease) = lease.await? {
            return Ok(HeldLease::new(lease));
        }
        sleep(Duration::from_millis(500)).await;
    }
    Err(ImportError::AlreadyRunning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_source::TestPoller;

    /// More files than one round lists, and then none of them is new.
    #[tokio::test]
    async fn second_import_of_the_same_files_records_nothing_and_succeeds() {
        let mut poller = TestPoller::new().await;
        poller.deps.settings.pages = 1;
        let folder = tempfile::tempdir().unwrap();
        for number in 0..500 {
            let mail = format!("To: agent@inbox.test\r\nSubject: {number}\r\n\r\nhello\r\n");
            std::fs::write(folder.path().join(format!("{number}.eml")), mail).unwrap();
        }
        for recorded in [500, 0] {
            let import = Import {
                source: "archive".parse().unwrap(),
                paths: vec![folder.path().to_owned()],
                deliver_to: Vec::new(),
            };
            let imported = import.run(&poller.deps, |_, _| {}).await.unwrap();
            assert_eq!((imported.mails, imported.recorded), (500, recorded));
        }
    }
}
