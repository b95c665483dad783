//! The key file: one key in each line, the first one seals, all open. Lines that begin
//! with `#` are comments.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::key::{KeyId, SealKey};

/// The key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("the key file {0} cannot be read")]
    Read(PathBuf, #[source] io::Error),
    /// The file cannot be written.
    #[error("the key file {0} cannot be written")]
    Write(PathBuf, #[source] io::Error),
    /// A line of it is no key. The line itself is not shown.
    #[error("line {1} of the key file {0} is not 32 bytes in base64")]
    Line(PathBuf, usize),
    /// It holds no key.
    #[error("there is no sealing key")]
    Empty,
    /// Two keys have the same name, so they are the same key.
    #[error("two sealing keys have the name {0}")]
    Twice(KeyId),
}

/// What distinguishes two states of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: SystemTime,
    inode: u64,
    length: u64,
}

/// A file of keys.
#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    /// The file at a path; nothing is read yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file with one new key, unless it exists. Two processes that do this
    /// at once get the same file.
    pub fn create_if_missing(&self) -> Result<(), KeyFileError> {
        if self.path.exists() {
            return Ok(());
        }
        let new = self.write_beside(&format!("{}\n", SealKey::mint()))?;
        // Unlike a rename, a link does not replace the file of another process.
        let linked = fs::hard_link(&new, &self.path);
        let removed = fs::remove_file(&new);
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(self.write_error(error))
            }
            _ => removed.map_err(|error| self.write_error(error)),
        }
    }

    /// Its keys, in order.
    pub fn read(&self) -> Result<Vec<SealKey>, KeyFileError> {
        let keys = self.lines()?.into_iter().filter_map(|(_, key)| key);
        Ok(keys.collect())
    }

    /// When it was last changed.
    pub fn modified(&self) -> Result<SystemTime, KeyFileError> {
        self.stamp().map(|stamp| stamp.modified)
    }

    /// Puts a new key in front of the others: from now on it seals.
    pub fn put_in_front(&self) -> Result<KeyId, KeyFileError> {
        let _alone = self.lock()?;
        let lines = self.lines()?;
        let minted = SealKey::mint();
        let text: String = lines.iter().flat_map(|(line, _)| [line, "\n"]).collect();
        self.replace(&format!("{minted}\n{text}"))?;
        let keys = self.read()?;
        let first = keys.first().ok_or(KeyFileError::Empty)?;
        Ok(first.id().clone())
    }

    /// Removes keys; the first one always stays.
    pub fn remove(&self, retired: &[KeyId]) -> Result<(), KeyFileError> {
        let _alone = self.lock()?;
        let lines = self.lines()?;
        let first = lines.iter().find_map(|(_, key)| key.as_ref());
        let first = first.ok_or(KeyFileError::Empty)?.id().clone();
        let stays = |key: &Option<SealKey>| match key {
            Some(key) => *key.id() == first || !retired.contains(key.id()),
            None => true,
        };
        let kept = lines.iter().filter(|(_, key)| stays(key));
        let text: String = kept.flat_map(|(line, _)| [line, "\n"]).collect();
        self.replace(&text)
    }

    /// Its state, to be compared with a later one.
    pub(super) fn stamp(&self) -> Result<Stamp, KeyFileError> {
        let state = fs::metadata(&self.path).and_then(|file| Ok((file.modified()?, file)));
        let (modified, file) = state.map_err(|error| self.read_error(error))?;
        Ok(Stamp {
            modified,
            inode: file.ino(),
            length: file.len(),
        })
    }

    /// Keeps other changes out until it is dropped. Without it, the second of two changes
    /// would write back what it read before the first, and remove a key that a server
    /// already seals under. The lock is on a second file, because the key file itself is
    /// replaced. The lock file is never removed: otherwise two processes could each lock a
    /// lock file of their own.
    fn lock(&self) -> Result<File, KeyFileError> {
        let locked = || {
            let owner = fs::metadata(&self.path)?;
            let lock = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(self.beside("lock"))?;
            let made = lock.metadata()?;
            if (owner.uid(), owner.gid()) != (made.uid(), made.gid()) {
                fchown(&lock, Some(owner.uid()), Some(owner.gid()))?;
            }
            lock.lock()?;
            Ok(lock)
        };
        locked().map_err(|error| self.write_error(error))
    }

    /// A file next to this one.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{suffix}"));
        self.path.with_file_name(name)
    }

    fn lines(&self) -> Result<Vec<(String, Option<SealKey>)>, KeyFileError> {
        let text = fs::read_to_string(&self.path).map_err(|error| self.read_error(error))?;
        let lines = text.lines().enumerate().map(|(number, line)| {
            let is_key = !line.trim().is_empty() && !line.starts_with('#');
            let key = is_key.then(|| line.parse()).transpose();
            let key = key.map_err(|_odd| KeyFileError::Line(self.path.clone(), number + 1))?;
            Ok((line.to_owned(), key))
        });
        lines.collect()
    }

    /// Replaces the file in one step: readers, also after a crash, find the old content or
    /// the new one. The new file has the owner and the permissions of the old one.
    fn replace(&self, text: &str) -> Result<(), KeyFileError> {
        let new = self.write_beside(text)?;
        let replaced = self.hand_over(&new).and_then(|()| self.sync_directory());
        replaced.map_err(|error| self.write_error(error))
    }

    fn hand_over(&self, new: &Path) -> io::Result<()> {
        let (old, made) = (fs::metadata(&self.path)?, fs::metadata(new)?);
        if (old.uid(), old.gid()) != (made.uid(), made.gid()) {
            chown(new, Some(old.uid()), Some(old.gid()))?;
        }
        fs::set_permissions(new, old.permissions())?;
        fs::rename(new, &self.path)
    }

    fn write_beside(&self, text: &str) -> Result<PathBuf, KeyFileError> {
        let path = self.beside(&uuid::Uuid::new_v4().simple().to_string());
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())
                    .and_then(|()| file.sync_all())
            });
        match written {
            Ok(()) => Ok(path),
            Err(error) => Err(self.write_error(error)),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        let directory = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn read_error(&self, error: io::Error) -> KeyFileError {
        KeyFileError::Read(self.path.clone(), error)
    }

    fn write_error(&self, error: io::Error) -> KeyFileError {
        KeyFileError::Write(self.path.clone(), error)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(file: &KeyFile) -> Vec<KeyId> {
        let keys = file.read().unwrap();
        keys.iter().map(|key| key.id().clone()).collect()
    }

    #[test]
    fn key_file_is_created_once_with_mode_600() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("seal.keys"));
        assert!(matches!(file.read(), Err(KeyFileError::Read(..))));
        file.create_if_missing().unwrap();
        let first = names(&file);
        file.create_if_missing().unwrap();
        assert_eq!((first.len(), names(&file)), (1, first));
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn new_key_is_first_and_older_keys_and_comments_stay() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("seal.keys"));
        fs::write(file.path(), format!("# mine\n{}\n\n", SealKey::mint())).unwrap();
        let before = names(&file);
        let added = file.put_in_front().unwrap();
        assert_eq!(names(&file), [vec![added.clone()], before.clone()].concat());
        file.remove(&[added.clone(), before[0].clone()]).unwrap();
        assert_eq!(names(&file), [added]);
        assert!(fs::read_to_string(file.path()).unwrap().contains("# mine"));
    }

    #[test]
    fn replaced_key_file_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("seal.keys"));
        file.create_if_missing().unwrap();
        for mode in [0o600, 0o640] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            file.put_in_front().unwrap();
            let now = fs::metadata(file.path()).unwrap().permissions().mode();
            assert_eq!(now & 0o777, mode);
        }
        // The file and its lock.
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn concurrent_changes_of_the_key_file_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("seal.keys"));
        file.create_if_missing().unwrap();
        let first = names(&file);
        let rotate = || -> Vec<KeyId> { (0..10).map(|_| file.put_in_front().unwrap()).collect() };
        let added: Vec<KeyId> = std::thread::scope(|scope| {
            let rotating: Vec<_> = (0..4).map(|_| scope.spawn(rotate)).collect();
            let retiring = scope.spawn(|| (0..10).for_each(|_| file.remove(&first).unwrap()));
            retiring.join().unwrap();
            let added = rotating.into_iter().flat_map(|it| it.join().unwrap());
            added.collect()
        });
        file.remove(&first).unwrap();
        let (mut kept, mut added) = (names(&file), added);
        kept.sort();
        added.sort();
        assert_eq!((kept, added.len()), (added.clone(), 40));
    }

    #[test]
    fn error_for_a_malformed_line_has_its_number_and_not_its_text() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::at(dir.path().join("seal.keys"));
        fs::write(file.path(), format!("{}\nsecret?\n", SealKey::mint())).unwrap();
        let error = file.read().unwrap_err().to_string();
        assert!(error.starts_with("line 2 ") && !error.contains("secret?"));
    }
}
