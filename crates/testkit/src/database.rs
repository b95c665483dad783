//! Databases on the shared PostgreSQL server, one for each test.
//!
//! Migrating an empty database takes longer than most tests, so each test program
//! migrates one database, and its tests get copies. Dropping a database makes the server
//! write a checkpoint, so unused databases are dropped many at a time: they share a
//! checkpoint. The last ones go with the server.

use std::sync::{Mutex, PoisonError};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::server::shared_url;

/// How many unused databases are dropped together.
const DROPPED_TOGETHER: usize = 16;

/// The name of the database that is copied.
static MIGRATED: OnceCell<String> = OnceCell::const_new();

static UNUSED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A new database with every table, and its URL. The first call has `migrate` prepare the
/// database that all are copied from.
pub async fn migrated_database<F>(migrate: impl FnOnce(String) -> F) -> String
where
    F: Future<Output = ()>,
{
    let prepare = async || {
        let name = new_name("migrated");
        execute(&format!("CREATE DATABASE {name}")).await;
        migrate(url_of(&name)).await;
        name
    };
    let migrated = MIGRATED.get_or_init(prepare).await;
    let name = new_name("test");
    execute(&format!("CREATE DATABASE {name} TEMPLATE {migrated}")).await;
    url_of(&name)
}

/// Drops a database, now or together with others that are not used any longer.
pub async fn drop_unused_database(url: &str) {
    let dropped = {
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        unused.extend(url.rsplit('/').next().map(str::to_owned));
        if unused.len() < DROPPED_TOGETHER {
            return;
        }
        std::mem::take(&mut *unused)
    };
    let drops = dropped.into_iter().map(|name| {
        tokio::spawn(async move {
            execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        })
    });
    for drop in drops.collect::<Vec<_>>() {
        drop.await.expect("databases can be dropped");
    }
}

fn new_name(kind: &str) -> String {
    format!("{kind}_{}", Uuid::new_v4().simple())
}

/// The URL of another database on the shared server.
fn url_of(name: &str) -> String {
    let shared = shared_url("TEST_DATABASE_URL");
    let (server, _) = shared.rsplit_once('/').expect("a URL names a database");
    format!("{server}/{name}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the name of a database cannot be a parameter"
)]
async fn execute(statement: &str) {
    let url = shared_url("TEST_DATABASE_URL");
    let mut server = PgConnection::connect(&url)
        .await
        .expect("the shared server can be reached");
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut server)
        .await
        .expect("the shared server creates and drops databases");
    server
        .close()
        .await
        .expect("a connection to the shared server closes");
}
