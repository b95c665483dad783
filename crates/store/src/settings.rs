//! Where the database is, how it is used and which keys it has.

use std::time::Duration;

use pipeline::{ServerKey, Tasks};
use secrecy::SecretString;

use crate::open::OpenError;
use crate::seal::Keyring;

/// The keys of the rows.
#[derive(Debug, Clone)]
pub struct Secrets {
    /// Seals bodies and values, and opens them.
    pub keyring: Keyring,
    /// Keys the digests that duplicates are recognised by. It does not rotate with the
    /// keys above: a changed one recognises no duplicate of earlier mail.
    pub server_key: ServerKey,
}

/// Where the database is and how it is used.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `postgres://…`, or `sqlite:` and the path of a file.
    pub url: SecretString,
    /// Postgres itself, if `url` is a pooler in transaction mode such as `PgBouncer`.
    /// Migrations and notifications need a session of their own.
    pub direct_url: Option<SecretString>,
    /// The keys of the rows; without them a database can be migrated, but not opened.
    pub secrets: Option<Secrets>,
    /// The most connections one process opens; `SQLite` has one writer and uses
    /// the rest for reading.
    pub max_connections: u32,
    /// How long to wait for a free connection before failing.
    pub acquire_timeout: Duration,
    /// Whether opening a Postgres database applies missing migrations; an
    /// embedded database always does that itself.
    pub migrate: bool,
    /// Accepts a Postgres server that may lose committed data in a crash. Only for tests.
    pub allow_unsafe: bool,
    /// Opens an embedded database as a guest: while another process, its owner, may have
    /// it open. A guest does not take the file's lock, so it neither migrates nor releases
    /// claims. For the operator's commands. In Postgres this has no effect.
    pub guest: bool,
    /// The name of the process in `pg_stat_activity`.
    pub application_name: String,
    /// Where restarts of this crate's tasks are counted.
    pub tasks: Tasks,
}

impl Settings {
    /// The defaults, for a database at `url`.
    pub fn new(url: SecretString) -> Self {
        Self {
            url,
            direct_url: None,
            secrets: None,
            max_connections: 8,
            acquire_timeout: Duration::from_secs(2),
            migrate: false,
            allow_unsafe: false,
            guest: false,
            application_name: "maillatch".to_owned(),
            tasks: Tasks::default(),
        }
    }

    /// The same database, with the keys of its rows.
    #[must_use]
    pub fn sealed_with(self, secrets: Secrets) -> Self {
        Self {
            secrets: Some(secrets),
            ..self
        }
    }

    /// The keys of the rows; an error if there are none.
    pub(crate) fn secrets(&self) -> Result<Secrets, OpenError> {
        self.secrets.clone().ok_or(OpenError::NoSecrets)
    }

    /// The same database, opened beside the process that owns it.
    #[must_use]
    pub fn as_guest(self) -> Self {
        Self {
            guest: true,
            ..self
        }
    }
}
