//! Files that are read once, by the same intake as everything that is polled.

use std::path::PathBuf;
use std::time::Duration;

use pipeline::{Leased, SourceName, StoreError};
use tokio::time::sleep;

use crate::contract::folder::Folder;
use crate::pull::PullError;
use crate::round::{Held, Stop, Tally, round};
use crate::run::Deps;

/// What is to be imported.
#[derive(Debug, Clone)]
pub struct Import {
    /// The source that the mails will be from.
    pub source: SourceName,
    /// Files, Maildirs, and folders of `.eml`, with those within them.
    pub paths: Vec<PathBuf>,
    /// The addresses they are for; those the mails name when empty.
    pub deliver_to: Vec<String>,
}

/// What came of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// Mails that were looked at.
    pub mails: u64,
    /// Deliveries that were recorded; the others were known.
    pub recorded: u64,
}

/// The import did not come to its end. What was recorded stays, and importing
/// the same files again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or folder cannot be read.
    #[error("the files cannot be read")]
    Unreadable,
    /// Another import into the same source runs.
    #[error("another import into this source is under way")]
    UnderWay,
    /// The database could not be asked.
    #[error("the database could not be asked")]
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
            Stop::Pull(_) | Stop::Mail(_) => Self::Unreadable,
            Stop::Lost => Self::UnderWay,
            Stop::StoreAway(error) => Self::Store(error),
        }
    }
}

impl From<PullError> for ImportError {
    fn from(_: PullError) -> Self {
        Self::Unreadable
    }
}

impl Import {
    /// Imports everything; `progress` hears how many of how many mails are done.
    pub async fn run(
        self,
        deps: &Deps,
        mut progress: impl FnMut(u64, u64) + Send,
    ) -> Result<Imported, ImportError> {
        let limit = deps.settings.message_limit;
        let mut folder = Folder::imported(self.paths, self.deliver_to, limit);
        let total = folder.count().await? as u64;
        let mut held = hold(deps, &self.source).await?;
        // Where an earlier import ended says nothing about these files.
        held.lease.cursor.clear();
        let mut imported = Imported {
            mails: 0,
            recorded: 0,
        };
        loop {
            let before = imported.mails;
            let mut note = |tally: &Tally| progress((before + tally.listed).min(total), total);
            let tally = round(deps, &mut folder, &mut held, &mut note).await?;
            imported.mails += tally.listed;
            imported.recorded += tally.recorded;
            if !tally.is_cut {
                break;
            }
        }
        deps.polls.release(&held.lease).await?;
        Ok(imported)
    }
}

/// Waits a little for an import that was just ended.
async fn hold(deps: &Deps, source: &SourceName) -> Result<Held, ImportError> {
    for _ in 0..3 {
        let lease = deps.polls.lease(source, deps.poller, deps.settings.lease);
        if let Leased::Yours(lease) = lease.await? {
            return Ok(Held::new(lease));
        }
        sleep(Duration::from_millis(500)).await;
    }
    Err(ImportError::UnderWay)
}
