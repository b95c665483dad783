//! Why a database was not opened.

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The database cannot be used as it is.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL begins with neither `postgres:` nor `sqlite:`.
    #[error("the database URL must begin with `postgres://` or `sqlite:`")]
    UnknownScheme,
    /// The URL does not say where the database is.
    #[error("the database URL cannot be used")]
    Url(#[source] Source),
    /// The settings have no keys for its rows.
    #[error("the database cannot be opened without sealing keys")]
    NoSecrets,
    /// The server cannot be reached, or does not let us in: where it is, why, and what to
    /// do.
    #[error("{0}")]
    Unreachable(String),
    /// The URL leads to a pooler, and the settings do not say so.
    #[error(
        "database.url leads to a pooler such as PgBouncer; set database.direct_url to the URL of \
         PostgreSQL itself, where Maillatch listens for notifications and migrates"
    )]
    UnnamedPooler,
    /// The pooler leads elsewhere.
    #[error(
        "database.url and database.direct_url lead to different servers or databases; correct one \
         of them"
    )]
    OtherServer,
    /// It cannot be opened.
    #[error("the database cannot be reached")]
    Connect(#[source] Source),
    /// It does not answer a question about itself.
    #[error("the database cannot be checked")]
    Check(#[source] Source),
    /// A migration failed.
    #[error("a migration cannot be applied")]
    Migrate(#[source] Source),
    /// It was made by a version that was never released.
    #[error(
        "the database was made by a version before the first release, whose rows are not sealed: \
         start with an empty one"
    )]
    Unreleased(#[source] Source),
    /// It was not migrated to what this binary needs.
    #[error("the database lacks the migrations {0}: run `maillatch migrate`")]
    MigrationsMissing(String),
    /// A newer binary has taken away what this one needs.
    #[error(
        "the database has the migration {found}, which removes what this binary needs \
         (it knows migrations up to {known}): use a newer binary"
    )]
    MigrationsNewer {
        /// The first migration that this binary cannot work with.
        found: i64,
        /// The newest migration of this binary.
        known: i64,
    },
    /// It may lose commits in a crash, so a 2xx would promise too much.
    #[error("the server may lose what it has committed: `{0}` is off")]
    Unsafe(&'static str),
    /// The `SQLite` library has a known fault that damages files.
    #[error("the SQLite library is {0}, and files are safe only from 3.51.3 on")]
    SqliteTooOld(String),
    /// The file system that holds the file has no space left.
    #[error("the disk that holds the database file `{0}` is full")]
    DiskFull(String),
    /// Another process has this file open.
    #[error(
        "the database file `{0}` is in use by another process; stop that one, or use another data \
         directory"
    )]
    InUse(String),
    /// The lock file beside the database file cannot be made.
    #[error("the database file cannot be locked")]
    Lock(#[source] std::io::Error),
}
