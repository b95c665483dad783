//! What the embedded profile generates at its first start and keeps: a server
//! secret, a source `dev` with its signing secret, and an API key `dev`. They are
//! in `dev.env` in the data directory, where `trigger` and `wait` in another
//! terminal find them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use feed::KeySettings;
use pipeline::Permission;
use providers::SourceSettings;
use secrecy::SecretString;

/// The variables that `dev.env` holds.
pub(crate) const URL: &str = "MAILLATCH_URL";
pub(crate) const KEY: &str = "MAILLATCH_KEY";
pub(crate) const SIGNING_SECRET: &str = "MAILLATCH_SIGNING_SECRET";
const SERVER_SECRET: &str = "MAILLATCH_SERVER_SECRET";

/// The development secrets of one data directory.
#[derive(Clone)]
pub(crate) struct DevEnv {
    dir: PathBuf,
    values: BTreeMap<String, String>,
}

impl DevEnv {
    /// The name of the development source and of the development key.
    pub(crate) const NAME: &str = "dev";

    /// Reads what an earlier start has generated, if there was one.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join("dev.env");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Self {
                dir: dir.to_owned(),
                values: parse(&text),
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
        }
    }

    /// Reads what is there and generates what is missing: the secret of the development
    /// source and the development key only if they are used. What the server would refuse
    /// is removed.
    pub(crate) fn open(dir: &Path, has_source: bool, has_key: bool) -> Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .with_context(|| {
                let dir = dir.display();
                format!(
                    "failed to create the data directory {dir}; choose one that this user may \
                     write to with --data-dir"
                )
            })?;
        warn_if_writable_by_others(dir)?;
        let mut env = Self::read(dir)?.unwrap_or_else(|| Self {
            dir: dir.to_owned(),
            values: BTreeMap::new(),
        });
        env.mint(SERVER_SECRET, random);
        if has_source {
            env.mint(SIGNING_SECRET, || format!("whsec_{}", random()));
        } else {
            env.values.remove(SIGNING_SECRET);
        }
        if has_key {
            env.mint(KEY, feed::Keys::mint);
        } else {
            env.values.remove(KEY);
        }
        env.write()?;
        Ok(env)
    }

    fn mint(&mut self, name: &str, mint: impl FnOnce() -> String) {
        self.values.entry(name.to_owned()).or_insert_with(mint);
    }

    /// Writes down the server's URL.
    pub(crate) fn save_url(&mut self, url: &str) -> Result<()> {
        self.values.insert(URL.to_owned(), url.to_owned());
        self.write()
    }

    /// The file.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.join("dev.env")
    }

    /// One of the variables.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The development source.
    pub(crate) fn source(&self) -> SourceSettings {
        let secret = SecretString::from(self.get(SIGNING_SECRET).unwrap_or_default());
        SourceSettings::standard_webhooks([secret])
    }

    /// The development key, which has every scope.
    pub(crate) fn key(&self) -> KeySettings {
        KeySettings {
            token: Some(SecretString::from(self.get(KEY).unwrap_or_default())),
            hash: None,
            inboxes: vec!["*".to_owned()],
            scopes: Permission::ALL.map(|one| one.as_str().to_owned()).to_vec(),
        }
    }

    /// The server secret, which keys digests and cursors.
    pub(crate) fn server_secret(&self) -> &str {
        self.get(SERVER_SECRET).unwrap_or_default()
    }

    /// Replaces the file in one step, readable by its owner alone.
    fn write(&self) -> Result<()> {
        let path = self.path();
        let new = self.dir.join("dev.env.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .with_context(|| format!("failed to write {}", new.display()))?;
        for (name, value) in &self.values {
            writeln!(file, "{name}={value}")?;
        }
        file.sync_all()?;
        fs::rename(&new, &path).with_context(|| format!("failed to write {}", path.display()))
    }
}

/// Whoever can write to the directory can replace its keys and its database. A volume may
/// come with such a mode, so this warns and does not refuse.
fn warn_if_writable_by_others(dir: &Path) -> Result<()> {
    let metadata =
        fs::metadata(dir).with_context(|| format!("failed to read {}", dir.display()))?;
    if metadata.permissions().mode() & 0o022 != 0 {
        let dir = dir.display();
        tracing::warn!("other users can write to {dir}; run: chmod 700 {dir}");
    }
    Ok(())
}

/// 256 bits in base64.
fn random() -> String {
    STANDARD.encode(rand::random::<[u8; 32]>())
}

fn parse(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_generated_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let first = DevEnv::open(&dir.path().join("data"), true, true).unwrap();
        let second = DevEnv::open(&dir.path().join("data"), true, true).unwrap();
        assert_eq!(first.values, second.values);
        assert!(first.get(SIGNING_SECRET).unwrap().starts_with("whsec_"));
    }

    #[test]
    fn secrets_that_the_server_would_refuse_are_not_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let first = DevEnv::open(dir.path(), true, true).unwrap();
        let second = DevEnv::open(dir.path(), false, false).unwrap();
        assert_eq!(second.server_secret(), first.server_secret());
        let saved = DevEnv::read(dir.path()).unwrap().unwrap();
        assert_eq!((saved.get(KEY), saved.get(SIGNING_SECRET)), (None, None));
    }

    #[test]
    fn the_file_is_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let env = DevEnv::open(dir.path(), true, true).unwrap();
        let mode = fs::metadata(env.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
