//! Opening a database by its URL.

mod error;

use std::sync::Arc;

use pipeline::{
    AgentLog, AttemptLog, AuditLog, CallbackLog, DeliveryLog, EchoLog, FailureLog, GuardLog,
    InboxLog, KeyLog, Outbox, PollLog, Probe, RefusalLog, ReplyLog, RetentionLog, SendLog,
    SilenceLog, ThreadLog, WorkLog,
};
use secrecy::ExposeSecret;

use crate::backend::{Backend, ConnectionCount};
use crate::database::Database;
use crate::migrations::{Migrated, MigrationPlan};
use crate::postgres::Postgres;
use crate::sends::Sends;
use crate::settings::Settings;
use crate::sqlite::Sqlite;
use crate::work::Work;

pub use error::OpenError;

/// An open database: one seam for each user of it.
#[derive(Clone)]
pub struct Store {
    /// For the webhook, the poller and the sweeper.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// For the worker.
    pub work: Arc<dyn WorkLog>,
    /// For the feed.
    pub agents: Arc<dyn AgentLog>,
    /// For the feed: inboxes.
    pub inboxes: Arc<dyn InboxLog>,
    /// For the feed: attempts.
    pub attempts: Arc<dyn AttemptLog>,
    /// For the feed and the operator: keys.
    pub keys: Arc<dyn KeyLog>,
    /// For the worker: values on their way to callbacks.
    pub callbacks: Arc<dyn CallbackLog>,
    /// For the operator: who consumed what.
    pub audit: Arc<dyn AuditLog>,
    /// For the operator.
    pub failures: Arc<dyn FailureLog>,
    /// For the poller.
    pub polls: Arc<dyn PollLog>,
    /// For the poller and `doctor`.
    pub silence: Arc<dyn SilenceLog>,
    /// For the webhook and `doctor`.
    pub refusals: Arc<dyn RefusalLog>,
    /// For the feed: guards.
    pub guards: Arc<dyn GuardLog>,
    /// For the feed and the operator: sends.
    pub sends: Arc<dyn SendLog>,
    /// For the crate that renders replies.
    pub replies: Arc<dyn ReplyLog>,
    /// For the feed, the operator and the worker: threads.
    pub threads: Arc<dyn ThreadLog>,
    /// For the worker: whether a mail is a copy of our own.
    pub echoes: Arc<dyn EchoLog>,
    /// For the process that hands sends to their providers.
    pub outbox: Arc<dyn Outbox>,
    /// For the retention task.
    pub retention: Arc<dyn RetentionLog>,
    /// For `/readyz` and `doctor`.
    pub probe: Arc<dyn Probe>,
    pub(crate) database: AnyDatabase,
}

#[derive(Clone)]
pub(crate) enum AnyDatabase {
    Postgres(Arc<Database<Postgres>>),
    Sqlite(Arc<Database<Sqlite>>),
}

impl Store {
    fn over<B: Backend>(database: Database<B>, wrap: fn(Arc<Database<B>>) -> AnyDatabase) -> Self {
        type D<B> = Database<B>;
        let database = Arc::new(database);
        let sends = Arc::new(Sends::over(Arc::clone(&database)));
        Self {
            deliveries: Arc::<D<B>>::clone(&database),
            work: Arc::new(Work::over(Arc::clone(&database))),
            agents: Arc::<D<B>>::clone(&database),
            inboxes: Arc::<D<B>>::clone(&database),
            attempts: Arc::<D<B>>::clone(&database),
            keys: Arc::<D<B>>::clone(&database),
            callbacks: Arc::<D<B>>::clone(&database),
            audit: Arc::<D<B>>::clone(&database),
            failures: Arc::<D<B>>::clone(&database),
            polls: Arc::<D<B>>::clone(&database),
            silence: Arc::<D<B>>::clone(&database),
            refusals: Arc::<D<B>>::clone(&database),
            guards: Arc::<D<B>>::clone(&database),
            sends: Arc::<Sends<B>>::clone(&sends),
            replies: Arc::<D<B>>::clone(&database),
            threads: Arc::<D<B>>::clone(&database),
            echoes: Arc::<D<B>>::clone(&database),
            outbox: sends,
            retention: Arc::<D<B>>::clone(&database),
            probe: Arc::<D<B>>::clone(&database),
            database: wrap(database),
        }
    }

    /// The connections of this process to the database.
    pub fn connections(&self) -> ConnectionCount {
        match &self.database {
            AnyDatabase::Postgres(database) => database.session.backend.connections(),
            AnyDatabase::Sqlite(database) => database.session.backend.connections(),
        }
    }

    /// Waits for the database work that is under way, then closes every
    /// connection. Whatever is asked after that is answered "unavailable".
    pub async fn close(&self) {
        match &self.database {
            AnyDatabase::Postgres(database) => database.close().await,
            AnyDatabase::Sqlite(database) => database.close().await,
        }
    }
}

/// Opens a database. An embedded one is migrated; a Postgres one is refused when its
/// migrations are not this binary's, or when it may lose commits.
pub async fn open(settings: &Settings) -> Result<Store, OpenError> {
    match Place::of(settings)? {
        Place::Postgres => {
            // Its future is large, and would be a part of the future of every caller.
            let database = Box::pin(Database::<Postgres>::open(settings)).await?;
            Ok(Store::over(database, AnyDatabase::Postgres))
        }
        Place::Sqlite(path) => {
            let database = Database::<Sqlite>::open(settings, path).await?;
            Ok(Store::over(database, AnyDatabase::Sqlite))
        }
    }
}

/// Applies the migrations that are missing.
pub async fn migrate(settings: &Settings) -> Result<Migrated, OpenError> {
    match Place::of(settings)? {
        Place::Postgres => Database::<Postgres>::migrate(settings).await,
        Place::Sqlite(path) => Database::<Sqlite>::migrate(settings, path).await,
    }
}

/// What [`migrate`] would do, without doing it.
pub async fn plan(settings: &Settings) -> Result<MigrationPlan, OpenError> {
    match Place::of(settings)? {
        Place::Postgres => Database::<Postgres>::plan(settings).await,
        Place::Sqlite(path) => Database::<Sqlite>::plan(settings, path).await,
    }
}

enum Place<'s> {
    Postgres,
    Sqlite(&'s str),
}

impl<'s> Place<'s> {
    fn of(settings: &'s Settings) -> Result<Self, OpenError> {
        let url = settings.url.expose_secret();
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres);
        }
        let path = url
            .strip_prefix("sqlite:")
            .ok_or(OpenError::UnknownScheme)?;
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || path == ":memory:" {
            return Err(OpenError::Url("a path of a file is needed".into()));
        }
        Ok(Self::Sqlite(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> Result<String, OpenError> {
        let settings = Settings::new(url.into());
        Place::of(&settings).map(|place| match place {
            Place::Postgres => "postgres".to_owned(),
            Place::Sqlite(path) => path.to_owned(),
        })
    }

    #[test]
    fn the_scheme_names_the_database() {
        assert_eq!(place("postgres://a@b/c").unwrap(), "postgres");
        assert_eq!(place("sqlite:data/m.db").unwrap(), "data/m.db");
        assert_eq!(place("sqlite:///var/m.db").unwrap(), "/var/m.db");
        assert!(matches!(place("mysql://a"), Err(OpenError::UnknownScheme)));
        assert!(matches!(place("sqlite::memory:"), Err(OpenError::Url(_))));
    }
}
