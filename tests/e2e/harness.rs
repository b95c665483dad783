//! A deployment under test, and the operations that the tests use.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
pub(crate) use maillatch::deployment::Role;
use maillatch::deployment::{Backing, Deployment};
use secrecy::ExposeSecret;
use serde_json::Value;
use sqlx::Connection;
use testkit::server::shared_url;
use tokio::time::{Instant, sleep};

use crate::client::{HttpAnswer, HttpClient};

/// How long a test waits for something that must happen.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

/// Settings that make tests short; everything else is the default.
const FAST: &str = "worker.lease = \"3s\"\nworker.sweep_every = \"200ms\"\n\
                     worker.ring_patience = \"2s\"\n";

/// Those and the settings of a test.
fn settings(extra: &str) -> String {
    let filter = if extra.contains("log.filter") {
        ""
    } else {
        "log.filter = \"debug\"\n"
    };
    format!("{FAST}{filter}{extra}")
}

/// The binary under test.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_maillatch"))
}

pub(crate) struct Harness {
    pub(crate) deployment: Deployment,
    pub(crate) client: HttpClient,
    database: Database,
}

/// The database, read without the product's code.
enum Database {
    Sqlite(String),
    Postgres { url: String, scratch: bool },
}

/// A transaction that blocks writers.
pub(crate) enum Lock {
    Sqlite(sqlx::SqliteConnection),
    Postgres(sqlx::PgConnection),
}

impl Lock {
    pub(crate) async fn release(self) {
        match self {
            Self::Sqlite(connection) => connection.close().await.unwrap(),
            Self::Postgres(connection) => connection.close().await.unwrap(),
        }
    }
}

impl Harness {
    pub(crate) async fn embedded() -> Self {
        Self::embedded_with("").await
    }

    /// The same with additional settings.
    pub(crate) async fn embedded_with(extra: &str) -> Self {
        let settings = settings(extra);
        let deployment = Deployment::launch(binary(), Backing::Embedded, &settings)
            .await
            .unwrap();
        let file = deployment
            .config()
            .with_file_name("data")
            .join("maillatch.db");
        let database = Database::Sqlite(format!("sqlite:{}", file.display()));
        Self::over(deployment, database)
    }

    /// One process with its data in this directory.
    pub(crate) async fn embedded_in(directory: &Path) -> Self {
        let backing = Backing::EmbeddedIn(directory.to_owned());
        let deployment = Deployment::launch(binary(), backing, &settings(""))
            .await
            .unwrap();
        let file = directory.join("maillatch.db");
        let database = Database::Sqlite(format!("sqlite:{}", file.display()));
        Self::over(deployment, database)
    }

    /// Two processes of each role on a new database.
    pub(crate) async fn full() -> Self {
        Self::full_with("").await
    }

    /// The same with additional settings.
    pub(crate) async fn full_with(extra: &str) -> Self {
        let server = shared_url("TEST_DATABASE_URL");
        let mut url = url::Url::parse(&server).unwrap();
        url.set_path(&format!("e2e_{}", uuid::Uuid::now_v7().simple()));
        store::create_database(&url.as_str().into()).await.unwrap();
        let amqp = shared_url("TEST_AMQP_URL");
        Self::on([url.as_str(), &amqp], true, extra).await
    }

    /// Two processes of each role on servers that the test may stop.
    pub(crate) async fn on_servers(database_url: &str, amqp_url: &str) -> Self {
        Self::on([database_url, amqp_url], false, "").await
    }

    async fn on([database_url, amqp_url]: [&str; 2], scratch: bool, extra: &str) -> Self {
        let settings = settings(extra);
        let backing = Backing::Full {
            database_url: database_url.to_owned(),
            amqp_url: amqp_url.to_owned(),
        };
        let deployment = Deployment::launch(binary(), backing, &settings)
            .await
            .unwrap();
        let url = database_url.to_owned();
        Self::over(deployment, Database::Postgres { url, scratch })
    }

    fn over(deployment: Deployment, database: Database) -> Self {
        Self {
            deployment,
            client: HttpClient::new().unwrap(),
            database,
        }
    }

    /// Stops every process cleanly and drops the database.
    pub(crate) async fn end(mut self) {
        self.deployment.stop().await.unwrap();
        if let Database::Postgres { url, scratch: true } = &self.database {
            store::drop_database(&url.as_str().into()).await.unwrap();
        }
    }

    /// Posts a correctly signed body to one of the webhooks.
    pub(crate) async fn post(&self, which: usize, id: &str, body: &[u8]) -> HttpAnswer {
        self.try_post(which, id, body).await.unwrap()
    }

    /// Posts again after each 503, as a provider does: on a busy machine a commit may
    /// take longer than the server's time for it.
    pub(crate) async fn post_until_accepted(
        &self,
        which: usize,
        id: &str,
        body: &[u8],
    ) -> HttpAnswer {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let answer = self.post(which, id, body).await;
            if answer.status != 503 {
                return answer;
            }
            assert!(Instant::now() < deadline, "{answer:?}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn try_post(
        &self,
        which: usize,
        id: &str,
        body: &[u8],
    ) -> anyhow::Result<HttpAnswer> {
        self.client.post(&self.deployment, which, id, body).await
    }

    /// The items of an inbox, listed as an agent does.
    pub(crate) async fn items(&self, which: usize, inbox: &str) -> Vec<Value> {
        self.client
            .items(&self.deployment, which, inbox)
            .await
            .unwrap()
    }

    /// Waits until an inbox has `count` items.
    pub(crate) async fn until_items(&self, inbox: &str, count: usize) -> Vec<Value> {
        let items = self
            .client
            .until_items(&self.deployment, inbox, count, TIMEOUT);
        items.await.unwrap()
    }

    /// Consumes as one of the two consumers.
    pub(crate) async fn consume(&self, artifact: &str, consumer: usize, key: &str) -> HttpAnswer {
        let to = &self.deployment;
        let answer = self.client.consume(to, consumer, artifact, key).await;
        answer.unwrap()
    }

    /// Posts an object to a path of the feed; returns the status and the body.
    pub(crate) async fn post_json(&self, path: &str, key: &str, object: &Value) -> (u16, Value) {
        let answer = self.client.call(&self.deployment, path, key, object).await;
        let answer = answer.unwrap();
        (answer.status.as_u16(), answer.body)
    }

    /// What an agent needs: the server's address and a key.
    pub(crate) fn agent(&self) -> (String, String) {
        let url = self.deployment.url(Role::Feed, 0).unwrap().to_string();
        let key = self.deployment.key(0).expose_secret().to_owned();
        (url, key)
    }

    /// Gets a path of the first process of a role.
    pub(crate) async fn get(&self, role: Role, path: &str) -> HttpAnswer {
        self.client
            .get(&self.deployment, role, 0, path)
            .await
            .unwrap()
    }

    /// Gets a path of the operators' listener of the first process of a role.
    pub(crate) async fn ops(&self, role: Role, path: &str) -> HttpAnswer {
        let url = self.deployment.ops_url(role).unwrap().join(path).unwrap();
        self.client.get_url(url).await.unwrap()
    }

    /// The result of a counting query.
    pub(crate) async fn count(&self, rows: &'static str) -> i64 {
        match &self.database {
            Database::Sqlite(url) => {
                let pool = sqlx::SqlitePool::connect(url).await.unwrap();
                sqlx::query_scalar(rows).fetch_one(&pool).await.unwrap()
            }
            Database::Postgres { url, .. } => {
                let pool = sqlx::PgPool::connect(url).await.unwrap();
                sqlx::query_scalar(rows).fetch_one(&pool).await.unwrap()
            }
        }
    }

    /// Executes statements: the first on Postgres, the second on SQLite.
    pub(crate) async fn execute(&self, [postgres, sqlite]: [&'static str; 2]) {
        match &self.database {
            Database::Sqlite(url) => {
                let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
                sqlx::raw_sql(sqlite)
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
            Database::Postgres { url, .. } => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::raw_sql(postgres)
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
        }
    }

    /// Ends every process with SIGKILL.
    pub(crate) async fn kill_all(&mut self) {
        for role in [Role::Webhook, Role::Worker, Role::Feed] {
            self.deployment.kill(role).await.unwrap();
        }
    }

    /// Makes a copy of the database, while no process runs.
    pub(crate) fn save_database(&self) {
        match &self.database {
            Database::Sqlite(url) => copy_sqlite(url.trim_start_matches("sqlite:"), ["", ".copy"]),
            Database::Postgres { url, .. } => copy_postgres(url, ["", "_copy"]),
        }
    }

    /// Puts that copy in the place of the database, while no process runs.
    pub(crate) fn restore_database(&self) {
        match &self.database {
            Database::Sqlite(url) => copy_sqlite(url.trim_start_matches("sqlite:"), [".copy", ""]),
            Database::Postgres { url, .. } => {
                client_of_postgres(url, "dropdb", &["--force", name_in(url)]);
                copy_postgres(url, ["_copy", ""]);
                client_of_postgres(url, "dropdb", &[&format!("{}_copy", name_in(url))]);
            }
        }
    }

    /// Which consumer consumed which artifact, from the database.
    pub(crate) async fn consumes(&self) -> BTreeSet<(String, String)> {
        let rows: Vec<(String, String)> = match &self.database {
            Database::Sqlite(url) => {
                let pool = sqlx::SqlitePool::connect(url).await.unwrap();
                let rows = "SELECT lower(hex(artifact_id)), consumer FROM consumes";
                sqlx::query_as(rows).fetch_all(&pool).await.unwrap()
            }
            Database::Postgres { url, .. } => {
                let pool = sqlx::PgPool::connect(url).await.unwrap();
                let rows = "SELECT replace(artifact_id::text, '-', ''), consumer FROM consumes";
                sqlx::query_as(rows).fetch_all(&pool).await.unwrap()
            }
        };
        let named = rows.into_iter().map(|(id, by)| (format!("art_{id}"), by));
        named.collect()
    }

    /// The whole content of the database: the bytes of its files, or every row of every
    /// table with binary columns in hexadecimal.
    pub(crate) async fn database_dump(&self) -> Vec<u8> {
        match &self.database {
            Database::Sqlite(url) => {
                let file = url.trim_start_matches("sqlite:");
                let files = [file.to_owned(), format!("{file}-wal")];
                let read = |file: &String| std::fs::read(file).unwrap();
                files.iter().flat_map(read).collect()
            }
            Database::Postgres { url, .. } => {
                let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1);
                let pool = pool.connect(url).await.unwrap();
                let hex = sqlx::raw_sql("SET xmlbinary = hex");
                hex.execute(&pool).await.unwrap();
                let tables: Vec<String> = sqlx::query_scalar(
                    "SELECT query_to_xml('SELECT * FROM ' || quote_ident(table_name),
                                         true, false, '')::text
                     FROM information_schema.tables
                     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
                )
                .fetch_all(&pool)
                .await
                .unwrap();
                tables.concat().into_bytes()
            }
        }
    }

    /// Waits until the count is `wanted`.
    pub(crate) async fn until_count(&self, rows: &'static str, wanted: i64) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let count = self.count(rows).await;
            if count == wanted {
                return;
            }
            assert!(Instant::now() < deadline, "{rows}: {count}, not {wanted}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the count is at least `wanted`.
    pub(crate) async fn until_at_least(&self, rows: &'static str, wanted: i64) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let count = self.count(rows).await;
            if count >= wanted {
                return;
            }
            assert!(Instant::now() < deadline, "{rows}: {count}, not {wanted}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Blocks the writes of pollers until it is released.
    pub(crate) async fn lock_polls(&self) -> Lock {
        match &self.database {
            Database::Sqlite(url) => {
                let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
                let begun = sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut connection);
                begun.await.unwrap();
                Lock::Sqlite(connection)
            }
            Database::Postgres { url, .. } => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                let locked = sqlx::raw_sql("BEGIN; LOCK TABLE polls IN EXCLUSIVE MODE");
                locked.execute(&mut connection).await.unwrap();
                Lock::Postgres(connection)
            }
        }
    }

    /// Blocks what the janitor deletes until it is released. In `SQLite` it blocks every
    /// other write, too.
    pub(crate) async fn lock_consumes(&self) -> Lock {
        match &self.database {
            Database::Sqlite(_) => self.lock_polls().await,
            Database::Postgres { url, .. } => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                let locked = sqlx::raw_sql("BEGIN; LOCK TABLE consumes");
                locked.execute(&mut connection).await.unwrap();
                Lock::Postgres(connection)
            }
        }
    }

    /// The metrics of the first process of a role.
    pub(crate) async fn metrics(&self, role: Role) -> String {
        let answer = self.ops(role, "metrics").await;
        answer.body.as_str().unwrap().to_owned()
    }

    /// The metrics of every process of a role.
    pub(crate) async fn all_metrics(&self, role: Role) -> String {
        let mut all = String::new();
        for process in self.deployment.playing(role) {
            let url = process.ops_url().unwrap().join("metrics").unwrap();
            let answer = self.client.get_url(url).await.unwrap();
            all.push_str(answer.body.as_str().unwrap());
        }
        all
    }

    /// The output of `doctor`.
    pub(crate) async fn doctor(&self) -> String {
        let mut command = self.command(&["doctor"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        String::from_utf8(output.await.unwrap().stdout).unwrap()
    }

    /// Runs a command of the binary against this deployment's configuration.
    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(binary());
        command
            .args(args)
            .arg("--config")
            .arg(self.deployment.config());
        command
    }
}

/// Copies a database file with its log; the two are named by their endings.
fn copy_sqlite(file: &str, [from, to]: [&str; 2]) {
    for part in ["", "-wal"] {
        let (from, to) = (format!("{file}{part}{from}"), format!("{file}{part}{to}"));
        let _ = std::fs::remove_file(&to);
        if std::fs::exists(&from).unwrap() {
            std::fs::copy(from, to).unwrap();
        }
    }
    let _ = std::fs::remove_file(format!("{file}-shm"));
}

fn copy_postgres(url: &str, [from, to]: [&str; 2]) {
    let name = name_in(url);
    let (from, to) = (format!("{name}{from}"), format!("{name}{to}"));
    client_of_postgres(url, "createdb", &["--template", &from, &to]);
}

fn name_in(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

/// Runs a client of Postgres against the server of this database.
fn client_of_postgres(url: &str, program: &str, args: &[&str]) {
    let server = url.replace(name_in(url), "postgres");
    let mut command = std::process::Command::new(program);
    let output = command.arg("--maintenance-db").arg(server).args(args);
    let output = output.output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
}

/// The native payload around a raw mail.
pub(crate) fn payload(inbox: &str, raw: &[u8]) -> Vec<u8> {
    let data = serde_json::json!({ "recipients": [inbox], "raw": STANDARD.encode(raw) });
    let event = serde_json::json!({ "type": "email.received", "data": data });
    event.to_string().into_bytes()
}

/// A mail with a code in it.
pub(crate) fn otp_mail(message_id: &str, code: &str) -> Vec<u8> {
    let text = format!(
        "From: Example Accounts <no-reply@example.com>\r\n\
         To: agent@inbox.test\r\n\
         Message-ID: <{message_id}@example.com>\r\n\
         Date: Sun, 15 Nov 2026 10:00:00 +0000\r\n\
         Subject: Your verification code\r\n\
         \r\n\
         Your verification code is {code}. It expires in 10 minutes.\r\n"
    );
    text.into_bytes()
}

/// A delivery with a code for `inbox`.
pub(crate) fn otp_delivery(inbox: &str, message_id: &str, code: &str) -> Vec<u8> {
    payload(inbox, &otp_mail(message_id, code))
}

/// A delivery with a verification link to a host outside the allowlist.
pub(crate) fn foreign_link_delivery(inbox: &str) -> Vec<u8> {
    let mail = b"From: no-reply@evil.test\r\nMessage-ID: <l@evil.test>\r\n\
        Subject: Verify your email\r\nContent-Type: text/html\r\n\r\n\
        <p>Confirm your address:</p>\
        <a href=\"https://evil.test/verify?token=abcdefghijklmnopqrstuvwxyz0123456789\">\
        Verify email</a>\r\n";
    payload(inbox, mail)
}

/// Makes a test on each profile from a function.
macro_rules! on_both_profiles {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(crate::harness::Harness::embedded().await).await;
            })*
        }

        mod full {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(crate::harness::Harness::full().await).await;
            })*
        }
    };
}

pub(crate) use on_both_profiles;
