//! The database of a deployment, read and changed without the product's code.

use std::collections::BTreeSet;

use sqlx::{Connection, PgConnection, SqliteConnection};

pub(crate) enum Database {
    Sqlite(String),
    Postgres { url: String, scratch: bool },
}

/// A connection for counting.
pub(crate) enum Reader {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Reader {
    /// The result of a counting query.
    pub(crate) async fn count(&mut self, rows: &'static str) -> i64 {
        let count = match self {
            Self::Sqlite(connection) => sqlx::query_scalar(rows).fetch_one(connection).await,
            Self::Postgres(connection) => sqlx::query_scalar(rows).fetch_one(connection).await,
        };
        count.unwrap()
    }

    /// How far mail came, for the message of a test that fails.
    pub(crate) async fn progress(&mut self) -> String {
        let counts = "SELECT (SELECT count(*) FROM deliveries) || ' deliveries, '
                          || (SELECT count(*) FROM messages) || ' messages, '
                          || (SELECT count(*) FROM artifacts) || ' artifacts; polls: '
                          || coalesce((SELECT max(cursor) || ' ' || coalesce(max(failure), 'ok')
                                       FROM polls), 'none')";
        let text: Result<String, _> = match self {
            Self::Sqlite(connection) => sqlx::query_scalar(counts).fetch_one(connection).await,
            Self::Postgres(connection) => sqlx::query_scalar(counts).fetch_one(connection).await,
        };
        text.unwrap()
    }
}

/// A transaction that blocks writers.
pub(crate) enum Lock {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Lock {
    pub(crate) async fn release(self) {
        match self {
            Self::Sqlite(connection) => connection.close().await.unwrap(),
            Self::Postgres(connection) => connection.close().await.unwrap(),
        }
    }
}

impl Database {
    pub(crate) async fn reader(&self) -> Reader {
        match self {
            Self::Sqlite(url) => Reader::Sqlite(sqlite(url).await),
            Self::Postgres { url, .. } => Reader::Postgres(postgres(url).await),
        }
    }

    /// Executes statements: the first on Postgres, the second on SQLite.
    pub(crate) async fn execute(&self, [on_postgres, on_sqlite]: [&'static str; 2]) {
        match self {
            Self::Sqlite(url) => {
                let statements = sqlx::raw_sql(on_sqlite);
                statements.execute(&mut sqlite(url).await).await.unwrap();
            }
            Self::Postgres { url, .. } => {
                let statements = sqlx::raw_sql(on_postgres);
                statements.execute(&mut postgres(url).await).await.unwrap();
            }
        }
    }

    /// Drops a database that was made for one test.
    pub(crate) async fn remove(&self) {
        if let Self::Postgres { url, scratch: true } = self {
            testkit::database::drop_unused_database(url).await;
        }
    }

    /// Makes a copy of the database, while no process runs.
    pub(crate) fn save(&self) {
        match self {
            Self::Sqlite(url) => copy_sqlite(url.trim_start_matches("sqlite:"), ["", ".copy"]),
            Self::Postgres { url, .. } => copy_postgres(url, ["", "_copy"]),
        }
    }

    /// Puts that copy in the place of the database, while no process runs.
    pub(crate) fn restore(&self) {
        match self {
            Self::Sqlite(url) => copy_sqlite(url.trim_start_matches("sqlite:"), [".copy", ""]),
            Self::Postgres { url, .. } => {
                client_of_postgres(url, "dropdb", &["--force", name_in(url)]);
                copy_postgres(url, ["_copy", ""]);
                client_of_postgres(url, "dropdb", &[&format!("{}_copy", name_in(url))]);
            }
        }
    }

    /// Which consumer consumed which artifact.
    pub(crate) async fn consumes(&self) -> BTreeSet<(String, String)> {
        let rows: Vec<(String, String)> = match self {
            Self::Sqlite(url) => {
                let rows = "SELECT lower(hex(artifact_id)), consumer FROM consumes";
                let rows = sqlx::query_as(rows);
                rows.fetch_all(&mut sqlite(url).await).await.unwrap()
            }
            Self::Postgres { url, .. } => {
                let rows = "SELECT replace(artifact_id::text, '-', ''), consumer FROM consumes";
                let rows = sqlx::query_as(rows);
                rows.fetch_all(&mut postgres(url).await).await.unwrap()
            }
        };
        let named = rows.into_iter().map(|(id, by)| (format!("art_{id}"), by));
        named.collect()
    }

    /// The whole content: the bytes of the files, or every row of every table with binary
    /// columns in hexadecimal.
    pub(crate) async fn dump(&self) -> Vec<u8> {
        match self {
            Self::Sqlite(url) => {
                let file = url.trim_start_matches("sqlite:");
                let files = [file.to_owned(), format!("{file}-wal")];
                let read = |file: &String| std::fs::read(file).unwrap();
                files.iter().flat_map(read).collect()
            }
            Self::Postgres { url, .. } => {
                let mut connection = postgres(url).await;
                let hex = sqlx::raw_sql("SET xmlbinary = hex");
                hex.execute(&mut connection).await.unwrap();
                let tables: Vec<String> = sqlx::query_scalar(
                    "SELECT query_to_xml('SELECT * FROM ' || quote_ident(table_name),
                                         true, false, '')::text
                     FROM information_schema.tables
                     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
                )
                .fetch_all(&mut connection)
                .await
                .unwrap();
                tables.concat().into_bytes()
            }
        }
    }

    /// Blocks the writes of pollers until it is released.
    pub(crate) async fn lock_polls(&self) -> Lock {
        self.lock("BEGIN; LOCK TABLE polls IN EXCLUSIVE MODE").await
    }

    /// Blocks what the janitor deletes until it is released. In `SQLite` it blocks every
    /// other write, too.
    pub(crate) async fn lock_consumes(&self) -> Lock {
        self.lock("BEGIN; LOCK TABLE consumes").await
    }

    async fn lock(&self, on_postgres: &'static str) -> Lock {
        match self {
            Self::Sqlite(url) => {
                let mut connection = sqlite(url).await;
                let begun = sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut connection);
                begun.await.unwrap();
                Lock::Sqlite(connection)
            }
            Self::Postgres { url, .. } => {
                let mut connection = postgres(url).await;
                let locked = sqlx::raw_sql(on_postgres);
                locked.execute(&mut connection).await.unwrap();
                Lock::Postgres(connection)
            }
        }
    }
}

async fn sqlite(url: &str) -> SqliteConnection {
    SqliteConnection::connect(url).await.unwrap()
}

async fn postgres(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
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
