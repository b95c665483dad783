use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _, SqliteConnection,
};
use testkit::database::{drop_unused_database, migrated_database};

use super::*;
use crate::migrations::migrator;
use crate::settings::Settings;

/// It holds only messages that are not purged. With an index of all messages, each round would
/// read the purged ones again.
const INDEX: &str = "messages_kept_by_inbox";

#[expect(
    clippy::disallowed_methods,
    reason = "EXPLAIN takes no parameters, and these are two numbers"
)]
fn with_literals(sql: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(sql.replace("$1", "60000").replace("$2", "256"))
}

#[tokio::test]
async fn purged_messages_of_an_inbox_are_not_read_again_on_postgres() {
    let migrate = async |url: String| {
        let migrated = crate::migrate(&Settings::new(url.into())).await;
        migrated.unwrap();
    };
    let url = migrated_database(migrate).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute("SET enable_seqscan = off")
        .await
        .unwrap();
    let sql = with_literals(&format!("EXPLAIN {}", DUE.postgres));
    let plan = connection.fetch_all(sqlx::raw_sql(sql)).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    assert!(plan.iter().any(|step| step.contains(INDEX)), "{plan:#?}");
    connection.close().await.unwrap();
    drop_unused_database(&url).await;
}

#[tokio::test]
async fn purged_messages_of_an_inbox_are_not_read_again_on_sqlite() {
    let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    let migrations = migrator(|twin| twin.sqlite);
    migrations.run(&mut connection).await.unwrap();
    let sql = with_literals(&format!("EXPLAIN QUERY PLAN {}", DUE.sqlite));
    let plan = connection.fetch_all(sqlx::raw_sql(sql)).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
    assert!(plan.iter().any(|step| step.contains(INDEX)), "{plan:#?}");
}
