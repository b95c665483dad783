//! One process for one file. `SQLite` could be shared by several, but claims are
//! released when the file is opened, and watches and the doorbell work inside one
//! process only.

use std::fs::{File, OpenOptions, TryLockError};
use std::sync::{Mutex, PoisonError};

use sqlx::SqlitePool;

use super::connect::check_error;
use crate::open::OpenError;

/// The lock on a file beside the database. The system releases it when the process
/// ends, however it ends, so it is never stale.
pub(super) struct FileLock {
    held: Mutex<Option<File>>,
}

impl FileLock {
    pub(super) fn take(path: &str) -> Result<Self, OpenError> {
        let file = private(&format!("{path}.lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(OpenError::Lock(error)),
        }
        // SQLite would make the file readable to all users. Its log and shared memory
        // take their permissions from it.
        private(path)?;
        Ok(Self {
            held: Mutex::new(Some(file)),
        })
    }

    pub(super) fn release(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        drop(held.take());
    }
}

/// Ends the leases of a process that has ended: this process holds the file's lock, so no
/// other one is still working. A delivery with a counted attempt may have killed that
/// process. It keeps its lease, so that other deliveries are processed before it.
pub(super) async fn release_orphans(writer: &SqlitePool) -> Result<(), OpenError> {
    sqlx::query(
        "UPDATE deliveries
         SET claimable_at = (SELECT now FROM clock),
             ring_at = (SELECT now FROM clock)
         WHERE state = 'claimed' AND attempts = 0",
    )
    .execute(writer)
    .await
    .map_err(check_error)?;
    Ok(())
}

/// Opens a file, or creates it readable for its owner only.
fn private(path: &str) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(OpenError::Lock)
}
