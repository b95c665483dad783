//! The configuration file of a client, which belongs to the user. It is replaced as a whole
//! or left as it is.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The mode of a new file before the user's mask, as of every new file.
const NEW_FILE: u32 = 0o666;
/// The mode of the copy of a file until it gets the file's own: the text may hold keys.
const PRIVATE: u32 = 0o600;

/// A client's file, and what it holds now.
pub(super) struct ConfigFile {
    /// The file itself, and not a link to it.
    path: PathBuf,
    text: String,
    /// `None` if there is no file yet.
    permissions: Option<Permissions>,
}

impl ConfigFile {
    /// Reads the file. A file that does not exist counts as empty. One that cannot be read is
    /// an error, so that it is not replaced.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = || format!("{} is left as it is: it cannot be read", path.display());
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::new(path),
            Err(error) => return Err(error).with_context(failed),
        };
        let text = fs::read_to_string(&path).with_context(failed)?;
        let permissions = fs::metadata(&path).with_context(failed)?.permissions();
        Ok(Self {
            path,
            text,
            permissions: Some(permissions),
        })
    }

    /// A file that does not exist yet.
    fn new(path: &Path) -> Result<Self> {
        if fs::symlink_metadata(path).is_ok() {
            bail!(
                "{} is left as it is: it is a link to a file that does not exist",
                path.display()
            );
        }
        Ok(Self {
            path: path.to_owned(),
            text: String::new(),
            permissions: None,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the text in one step: whoever reads the file, and whatever fails, sees the
    /// old text or the new one. The file keeps its mode.
    pub(super) fn replace(&self, text: &str) -> Result<()> {
        let failed = || format!("failed to write {}", self.path.display());
        let folder = self.path.parent();
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).with_context(failed)?;
        }
        let name = self.path.file_name().context("the file has no name")?;
        let process = std::process::id();
        let beside = format!(".{}.{process}.maillatch-new", name.display());
        let beside = self.path.with_file_name(beside);
        let written = self.write_beside(&beside, text);
        let replaced = written.and_then(|()| fs::rename(&beside, &self.path));
        if replaced.is_err() {
            // It may not exist, and the first error says why.
            let _ = fs::remove_file(&beside);
        }
        replaced.with_context(failed)
    }

    fn write_beside(&self, beside: &Path, text: &str) -> std::io::Result<()> {
        let mode = match self.permissions {
            Some(_) => PRIVATE,
            None => NEW_FILE,
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(beside)?;
        if let Some(permissions) = &self.permissions {
            file.set_permissions(permissions.clone())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}
