//! The keys of a process. They may change while it runs: a file that was changed is
//! read again, at once when a row names a key that is not known yet.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::file::{KeyFile, KeyFileError, Stamp};
use super::key::{KeyId, SealKey};

/// For how long a process may still seal under the old key after the file has a new
/// one.
const STALE: Duration = Duration::from_secs(1);

/// The keys that seal and open: the first one seals, all open.
#[derive(Clone)]
pub struct Keyring {
    file: Option<KeyFile>,
    held: Arc<RwLock<Held>>,
}

struct Held {
    sealing: SealKey,
    others: Vec<SealKey>,
    stamp: Option<Stamp>,
    looked_at: Instant,
}

impl Held {
    fn of(keys: Vec<SealKey>, stamp: Option<Stamp>) -> Result<Self, KeyFileError> {
        let mut names: Vec<&KeyId> = keys.iter().map(SealKey::id).collect();
        names.sort();
        let twice = names.iter().zip(names.iter().skip(1)).find(|(a, b)| a == b);
        if let Some((name, _)) = twice {
            return Err(KeyFileError::Twice((*name).clone()));
        }
        let mut keys = keys.into_iter();
        Ok(Self {
            sealing: keys.next().ok_or(KeyFileError::Empty)?,
            others: keys.collect(),
            stamp,
            looked_at: Instant::now(),
        })
    }

    fn find(&self, id: &str) -> Option<SealKey> {
        let mut all = std::iter::once(&self.sealing).chain(&self.others);
        all.find(|key| key.id().as_str() == id).cloned()
    }
}

impl From<SealKey> for Keyring {
    fn from(sealing: SealKey) -> Self {
        let held = Held {
            sealing,
            others: Vec::new(),
            stamp: None,
            looked_at: Instant::now(),
        };
        Self::over(None, held)
    }
}

impl Keyring {
    /// These keys, for as long as the process runs.
    pub fn of(keys: Vec<SealKey>) -> Result<Self, KeyFileError> {
        Ok(Self::over(None, Held::of(keys, None)?))
    }

    /// The keys of a file; it is read again when it changes.
    pub fn in_file(file: KeyFile) -> Result<Self, KeyFileError> {
        let held = read(&file)?;
        Ok(Self::over(Some(file), held))
    }

    fn over(file: Option<KeyFile>, held: Held) -> Self {
        Self {
            file,
            held: Arc::new(RwLock::new(held)),
        }
    }

    /// The key that seals now.
    pub fn sealing(&self) -> SealKey {
        let is_fresh = self.with(|held| held.looked_at.elapsed() < STALE);
        if !is_fresh {
            self.look_again();
        }
        self.with(|held| held.sealing.clone())
    }

    /// The names of all keys, the sealing one first.
    pub fn names(&self) -> Vec<KeyId> {
        self.with(|held| {
            let all = std::iter::once(&held.sealing).chain(&held.others);
            all.map(|key| key.id().clone()).collect()
        })
    }

    pub(crate) fn opening(&self, id: &str) -> Option<SealKey> {
        self.with(|held| held.find(id)).or_else(|| {
            self.look_again();
            self.with(|held| held.find(id))
        })
    }

    /// Reads the file again if it has changed. If it cannot be read, the process keeps
    /// the keys that it has: they still open what they have sealed.
    fn look_again(&self) {
        let Some(file) = &self.file else { return };
        let stamp = file.stamp();
        let is_unchanged =
            self.with(|held| stamp.is_ok() && held.stamp == stamp.as_ref().ok().cloned());
        let held = if is_unchanged { None } else { Some(read(file)) };
        let mut now = self.held.write().unwrap_or_else(PoisonError::into_inner);
        now.looked_at = Instant::now();
        match held {
            Some(Ok(held)) => {
                tracing::info!(key.id = %held.sealing.id(), "sealing keys changed");
                *now = held;
            }
            Some(Err(error)) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot read the changed key file; the keys in memory stay in use"
            ),
            None => {}
        }
    }

    // Nothing panics while it holds the lock, so a poisoned lock is safe to use.
    fn with<T>(&self, look: impl FnOnce(&Held) -> T) -> T {
        look(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The stamp is taken first, so that the next look notices a change in between.
fn read(file: &KeyFile) -> Result<Held, KeyFileError> {
    let stamp = file.stamp()?;
    Held::of(file.read()?, Some(stamp))
}

/// The names of the keys, the sealing one first.
impl fmt::Display for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        let names: Vec<&str> = names.iter().map(KeyId::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &tempfile::TempDir) -> KeyFile {
        let file = KeyFile::at(dir.path().join("seal.keys"));
        file.create_if_missing().unwrap();
        file
    }

    #[test]
    fn a_key_that_a_row_names_is_found_as_soon_as_it_is_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir);
        let ring = Keyring::in_file(file.clone()).unwrap();
        let before = ring.sealing();
        let added = file.put_in_front().unwrap();
        assert!(ring.opening(added.as_str()).is_some());
        assert!(ring.opening(before.id().as_str()).is_some());
        assert_eq!(*ring.sealing().id(), added);
        assert!(ring.opening("000000000000").is_none());
    }

    #[test]
    fn a_changed_file_changes_the_sealing_key_within_seconds() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir);
        let ring = Keyring::in_file(file.clone()).unwrap();
        let added = file.put_in_front().unwrap();
        let longest = Instant::now() + 5 * STALE;
        while *ring.sealing().id() != added {
            assert!(Instant::now() < longest, "the new key is not used");
            std::thread::yield_now();
        }
    }

    #[test]
    fn keys_in_memory_stay_when_the_file_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir);
        let ring = Keyring::in_file(file.clone()).unwrap();
        let held = ring.sealing();
        std::fs::write(file.path(), "nonsense").unwrap();
        assert!(ring.opening("000000000000").is_none());
        std::fs::remove_file(file.path()).unwrap();
        assert!(ring.opening("000000000000").is_none());
        assert!(ring.opening(held.id().as_str()).is_some());
    }

    #[test]
    fn no_keys_or_the_same_key_twice_is_refused() {
        assert!(matches!(Keyring::of(Vec::new()), Err(KeyFileError::Empty)));
        let twice = vec![SealKey::new([7; 32]), SealKey::new([7; 32])];
        assert!(matches!(Keyring::of(twice), Err(KeyFileError::Twice(_))));
    }
}
