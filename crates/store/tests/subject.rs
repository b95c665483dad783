//! Databases of a test's own: a new file, or a new database on the test server.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{
    CallbackLog, EchoLog, GuardLog, KeyLog, Outbox, PollLog, ReplyLog, RetentionLog, SendLog,
    SilenceLog, ThreadLog,
};
use store::{SealKey, Secrets, Settings, Store};
use testkit::callback_contract::CallbackSubject;
use testkit::database::{drop_unused_database, migrated_database};
use testkit::key_contract::KeySubject;
use testkit::poll_contract::PollSubject;
use testkit::reply_contract::ReplySubject;
use testkit::retention_contract::RetentionSubject;
use testkit::send_contract::SendSubject;
use testkit::server::shared_url;
use testkit::store_contract::{Seams, StoreSubject, must, server_key};
use url::Url;
use uuid::Uuid;

pub(crate) fn seams(store: &Store) -> Seams {
    let store = store.clone();
    Seams {
        deliveries: store.deliveries,
        work: store.work,
        agents: store.agents,
        inboxes: store.inboxes,
        attempts: store.attempts,
        audit: store.audit,
        failures: store.failures,
        probe: store.probe,
    }
}

/// The same for every opener, so that what one has sealed another opens.
pub(crate) fn secrets() -> Secrets {
    Secrets {
        keyring: SealKey::new([7; 32]).into(),
        server_key: server_key(),
    }
}

/// A directory that goes when the test does.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        let name = format!("maillatch-store-{}", Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        must(std::fs::create_dir(&path));
        Self(path)
    }

    /// The URL of a database file in it.
    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.file().display())
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("maillatch.db")
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(self.url().into()).sealed_with(secrets())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Best effort: on a panic the file may still be open, which is no harm.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A new `SQLite` file.
pub(crate) struct SqliteFile {
    pub(crate) directory: Directory,
    pub(crate) store: Store,
}

#[async_trait]
impl StoreSubject for SqliteFile {
    async fn open() -> Self {
        let directory = Directory::new();
        let store = must(store::open(&directory.settings()).await);
        Self { directory, store }
    }

    fn seams(&self) -> Seams {
        seams(&self.store)
    }

    async fn close(&self) {
        self.store.close().await;
    }
}

/// A name on the test server, with or without a database behind it yet.
pub(crate) struct Database {
    pub(crate) url: String,
}

impl Database {
    /// A new, empty database without any table.
    pub(crate) async fn create() -> Self {
        let mut url = must(Url::parse(&shared_url("TEST_DATABASE_URL")));
        url.set_path(&format!("store_{}", Uuid::new_v4().simple()));
        let url = url.to_string();
        must(store::create_database(&url.clone().into()).await);
        Self { url }
    }

    /// A new database with every table.
    async fn migrated() -> Self {
        let url = migrated_database(async |url: String| {
            must(store::migrate(&Settings::new(url.into())).await);
        });
        Self { url: url.await }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(self.url.clone().into()).sealed_with(secrets())
    }

    /// The same through the pooler at `TEST_POOLER_URL`, if there is one.
    fn settings_for_contract(&self) -> Settings {
        let direct = self.settings();
        let Ok(pooler) = std::env::var("TEST_POOLER_URL") else {
            return direct;
        };
        let mut pooler = must(Url::parse(&pooler));
        pooler.set_path(must(Url::parse(&self.url)).path());
        Settings {
            url: pooler.as_str().into(),
            direct_url: Some(direct.url.clone()),
            ..direct
        }
    }

    pub(crate) async fn drop(&self) {
        must(store::drop_database(&self.url.clone().into()).await);
    }
}

/// A new Postgres database.
pub(crate) struct PostgresDatabase {
    pub(crate) database: Database,
    pub(crate) store: Store,
}

#[async_trait]
impl StoreSubject for PostgresDatabase {
    async fn open() -> Self {
        let database = Database::migrated().await;
        let store = must(store::open(&database.settings_for_contract()).await);
        Self { database, store }
    }

    fn seams(&self) -> Seams {
        seams(&self.store)
    }

    async fn close(&self) {
        self.store.close().await;
        drop_unused_database(&self.database.url).await;
    }
}

impl PollSubject for SqliteFile {
    fn polls(&self) -> Arc<dyn PollLog> {
        Arc::clone(&self.store.polls)
    }

    fn silence(&self) -> Arc<dyn SilenceLog> {
        Arc::clone(&self.store.silence)
    }
}

impl PollSubject for PostgresDatabase {
    fn polls(&self) -> Arc<dyn PollLog> {
        Arc::clone(&self.store.polls)
    }

    fn silence(&self) -> Arc<dyn SilenceLog> {
        Arc::clone(&self.store.silence)
    }
}

impl KeySubject for SqliteFile {
    fn keys(&self) -> Arc<dyn KeyLog> {
        Arc::clone(&self.store.keys)
    }
}

impl KeySubject for PostgresDatabase {
    fn keys(&self) -> Arc<dyn KeyLog> {
        Arc::clone(&self.store.keys)
    }
}

impl RetentionSubject for SqliteFile {
    fn retention(&self) -> Arc<dyn RetentionLog> {
        Arc::clone(&self.store.retention)
    }
}

impl RetentionSubject for PostgresDatabase {
    fn retention(&self) -> Arc<dyn RetentionLog> {
        Arc::clone(&self.store.retention)
    }
}

impl CallbackSubject for SqliteFile {
    fn callbacks(&self) -> Arc<dyn CallbackLog> {
        Arc::clone(&self.store.callbacks)
    }
}

impl CallbackSubject for PostgresDatabase {
    fn callbacks(&self) -> Arc<dyn CallbackLog> {
        Arc::clone(&self.store.callbacks)
    }
}

impl SendSubject for SqliteFile {
    fn guards(&self) -> Arc<dyn GuardLog> {
        Arc::clone(&self.store.guards)
    }

    fn sends(&self) -> Arc<dyn SendLog> {
        Arc::clone(&self.store.sends)
    }

    fn outbox(&self) -> Arc<dyn Outbox> {
        Arc::clone(&self.store.outbox)
    }

    fn echoes(&self) -> Arc<dyn EchoLog> {
        Arc::clone(&self.store.echoes)
    }
}

impl SendSubject for PostgresDatabase {
    fn guards(&self) -> Arc<dyn GuardLog> {
        Arc::clone(&self.store.guards)
    }

    fn sends(&self) -> Arc<dyn SendLog> {
        Arc::clone(&self.store.sends)
    }

    fn outbox(&self) -> Arc<dyn Outbox> {
        Arc::clone(&self.store.outbox)
    }

    fn echoes(&self) -> Arc<dyn EchoLog> {
        Arc::clone(&self.store.echoes)
    }
}

impl ReplySubject for SqliteFile {
    fn replies(&self) -> Arc<dyn ReplyLog> {
        Arc::clone(&self.store.replies)
    }

    fn threads(&self) -> Arc<dyn ThreadLog> {
        Arc::clone(&self.store.threads)
    }
}

impl ReplySubject for PostgresDatabase {
    fn replies(&self) -> Arc<dyn ReplyLog> {
        Arc::clone(&self.store.replies)
    }

    fn threads(&self) -> Arc<dyn ThreadLog> {
        Arc::clone(&self.store.threads)
    }
}
