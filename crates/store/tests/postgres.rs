//! What only Postgres does.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Recorded, StoreError};
use sqlx::postgres::PgListener;
use sqlx::{Connection, PgConnection};
use store::{Migrated, OpenError, Settings};
use testkit::poll_contract::{found, held};
use testkit::proxy::Proxy;
use testkit::store_contract::{StoreSubject, code, delivery, inbox, mail, must, server_key};
use testkit::wait::{soon, until};
use tokio::task::JoinSet;
use url::Url;

use crate::subject::{Database, PostgresDatabase, seams, secrets};

async fn connect(database: &Database) -> PgConnection {
    must(PgConnection::connect(&database.url).await)
}

#[tokio::test]
async fn a_database_without_migrations_is_refused() {
    let database = Database::create().await;
    let refused = store::open(&database.settings()).await.err();
    assert!(
        matches!(refused, Some(OpenError::MigrationsMissing(_))),
        "{refused:?}"
    );
    database.drop().await;
}

/// Marks a migration as applied that this binary does not know.
async fn apply_newer(database: &Database, version: i64, name: &str) {
    let newer = sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ($1, $2, true, '', 0)",
    );
    let newer = newer.bind(version).bind(name);
    must(newer.execute(&mut connect(database).await).await);
}

#[tokio::test]
async fn a_database_with_newer_additive_migrations_is_used() {
    let database = Database::create().await;
    let settings = database.settings();
    must(store::migrate(&settings).await);
    apply_newer(&database, 9998, "9998_more").await;
    let added = sqlx::raw_sql(
        "ALTER TABLE deliveries ADD COLUMN more text NOT NULL DEFAULT 'x';
         CREATE TABLE more (id uuid PRIMARY KEY)",
    );
    must(added.execute(&mut connect(&database).await).await);
    let migrated = must(store::migrate(&settings).await);
    assert_eq!(migrated.applied, Vec::<&str>::new());
    assert_eq!(must(store::plan(&settings).await).newer, ["9998_more"]);
    let store = must(store::open(&settings).await);
    let to = inbox("agent");
    seams(&store).bring(&to, "m1", code(&to, "493817")).await;
    assert_eq!(seams(&store).items(&to).await.len(), 1);
    store.close().await;
    database.drop().await;
}

#[tokio::test]
async fn a_database_with_a_newer_contracting_migration_is_refused() {
    let database = Database::create().await;
    let settings = database.settings();
    must(store::migrate(&settings).await);
    apply_newer(&database, 9998, "9998_more").await;
    apply_newer(&database, 9999, "9999_contract_more").await;
    for refused in [
        store::open(&settings).await.err(),
        store::migrate(&settings).await.err(),
    ] {
        assert!(
            matches!(
                refused,
                Some(OpenError::MigrationsNewer { found: 9999, .. })
            ),
            "{refused:?}"
        );
    }
    database.drop().await;
}

#[tokio::test]
async fn a_plan_lists_missing_migrations_and_applies_none() {
    let database = Database::create().await;
    let settings = database.settings();
    let plan = must(store::plan(&settings).await);
    assert_eq!((plan.present, plan.missing[0].name), (0, "0001_pipeline"));
    assert!(plan.missing[0].is_additive);
    assert_eq!(must(store::plan(&settings).await), plan);
    must(store::migrate(&settings).await);
    let done = must(store::plan(&settings).await);
    assert_eq!(
        (done.present, done.missing),
        (plan.missing.len(), Vec::new())
    );
    database.drop().await;
}

#[tokio::test]
async fn migrate_returns_what_it_applied_and_applies_it_once() {
    let database = Database::create().await;
    let settings = database.settings();
    // Two at once: one waits for the other, and either may be first.
    let (one, two) = tokio::join!(store::migrate(&settings), store::migrate(&settings));
    let applied = [must(one).applied, must(two).applied];
    let is_first = |applied: &Vec<&str>| applied.first() == Some(&"0001_pipeline");
    assert!(applied.iter().any(is_first), "{applied:?}");
    let third = must(store::migrate(&settings).await);
    assert_eq!(third.applied, Vec::<&str>::new());
    assert!(matches!(third, Migrated { present: 1.., .. }));
    database.drop().await;
}

#[tokio::test]
async fn bodies_are_never_compressed_by_pglz() {
    let database = Database::create().await;
    must(store::migrate(&database.settings()).await);
    let (compression, storage): (String, String) = must(
        sqlx::query_as(
            "SELECT attcompression::text, attstorage::text FROM pg_attribute
             WHERE attrelid = 'deliveries'::regclass AND attname = 'body'",
        )
        .fetch_one(&mut connect(&database).await)
        .await,
    );
    // `l` is lz4; `e` is external, which is not compressed at all.
    assert!(
        compression == "l" || storage == "e",
        "{compression:?} {storage:?}"
    );
    database.drop().await;
}

#[tokio::test]
async fn server_without_synchronous_commit_is_refused() {
    let database = Database::create().await;
    must(store::migrate(&database.settings()).await);
    let forgetful = sqlx::raw_sql(
        "DO $$ BEGIN
             EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
         END $$",
    );
    must(forgetful.execute(&mut connect(&database).await).await);
    let refused = store::open(&database.settings()).await.err();
    assert!(
        matches!(refused, Some(OpenError::Unsafe("synchronous_commit"))),
        "{refused:?}"
    );
    let settings = Settings {
        allow_unsafe: true,
        ..database.settings()
    };
    must(store::open(&settings).await).close().await;
    database.drop().await;
}

#[tokio::test]
async fn new_item_notifies_every_process() {
    let subject = PostgresDatabase::open().await;
    let to = inbox("agent");
    let mut listener = must(PgListener::connect(&subject.database.url).await);
    must(listener.listen("maillatch_arrivals").await);
    subject.seams().bring(&to, "m1", code(&to, "111111")).await;
    let notified = must(soon("the notification", Box::pin(listener.recv())).await);
    assert_eq!(notified.payload(), to.as_str());

    // A mail without a new item sends no notification: the next one is the third mail's.
    let repeated = mail(&to, "m2", vec![code(&to, "111111")]);
    subject.seams().process("m2", vec![repeated]).await;
    let other = inbox("other");
    subject
        .seams()
        .bring(&other, "m3", code(&other, "222222"))
        .await;
    let notified = must(soon("the notification", Box::pin(listener.recv())).await);
    assert_eq!(notified.payload(), other.as_str());
    drop(listener);
    subject.close().await;
}

/// A retry arrives while the first post is not committed yet. An answer before the commit
/// could be wrong, and a wrong "duplicate" loses the mail.
#[tokio::test(flavor = "multi_thread")]
async fn retry_waits_for_the_first_post_and_is_a_duplicate_if_that_commits() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let mut other = connect(&subject.database).await;
    for (name, ending) in [("rolled_back", "ROLLBACK"), ("committed", "COMMIT")] {
        let first = delivery(name, b"body");
        must(sqlx::raw_sql("BEGIN").execute(&mut other).await);
        let insert = sqlx::query(
            "INSERT INTO deliveries
                 (id, source, delivery_key, content_digest, content_type, body_key, body)
             VALUES ($1, 'contract', $2, $3, 'application/json', '', '')",
        )
        .bind(first.id.as_uuid())
        .bind(first.key.keyed_with(&server_key()).as_bytes().as_slice())
        .bind(
            first
                .content
                .keyed_with(&server_key())
                .as_bytes()
                .as_slice(),
        );
        must(insert.execute(&mut other).await);

        let retry = delivery(name, b"body");
        let expected = match ending {
            "COMMIT" => Recorded::Duplicate(first.id),
            _ => Recorded::New(retry.id),
        };
        let mut recording = tokio::spawn({
            let seams = seams.clone();
            async move { seams.record(retry).await }
        });
        let waited = tokio::time::timeout(Duration::from_millis(300), &mut recording).await;
        assert!(
            waited.is_err(),
            "answered before the first post was committed"
        );
        must(sqlx::raw_sql(ending).execute(&mut other).await);
        assert_eq!(must(soon("an answer", recording).await), expected);
    }
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_table_is_unavailable_and_the_retry_records_one_row() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let mut other = connect(&subject.database).await;
    must(
        sqlx::raw_sql("BEGIN; LOCK TABLE deliveries")
            .execute(&mut other)
            .await,
    );
    let post = delivery("evt_1", b"body");
    let refused = soon("an answer", seams.deliveries.record(vec![post])).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    must(sqlx::raw_sql("ROLLBACK").execute(&mut other).await);
    seams.record(delivery("evt_1", b"body")).await;
    assert_eq!(must(seams.deliveries.backlog().await).unfinished, 1);
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_is_unavailable_while_its_connections_are_cut_or_frozen() {
    let subject = PostgresDatabase::open().await;
    let mut url = must(Url::parse(&subject.database.url));
    let server = format!(
        "{}:{}",
        url.host_str().unwrap_or("127.0.0.1"),
        url.port().unwrap_or(5432)
    );
    let proxy = Proxy::to(&server).await;
    must(url.set_port(Some(proxy.address().port())));
    must(url.set_host(Some("127.0.0.1")));
    let settings = Settings::new(url.to_string().into()).sealed_with(secrets());
    let store = must(store::open(&settings).await);

    for (name, fail) in [
        ("cut", Proxy::cut as fn(&Proxy)),
        ("freeze", Proxy::freeze as fn(&Proxy)),
    ] {
        let before = format!("{name}_before");
        must(
            store
                .deliveries
                .record(vec![delivery(&before, b"body")])
                .await,
        );
        fail(&proxy);
        // More posts than connections, so that every connection of the pool fails.
        let posts = (0..10).map(|number| delivery(&format!("{name}_{number}"), b"body"));
        let mut tasks = JoinSet::new();
        for post in posts {
            let deliveries = Arc::clone(&store.deliveries);
            tasks.spawn(async move { deliveries.record(vec![post]).await });
        }
        for refused in soon("ten answers", tasks.join_all()).await {
            assert!(
                matches!(refused, Err(StoreError::Unavailable(_))),
                "{refused:?}"
            );
        }
        proxy.heal();
        let again = until("it is back", async || {
            let post = delivery(&before, b"body");
            store.deliveries.record(vec![post]).await.ok()
        })
        .await;
        assert!(
            matches!(again.as_slice(), [Recorded::Duplicate(_)]),
            "{again:?}"
        );
    }
    soon("closing ends", store.close()).await;
    subject.close().await;
}

/// If the rows cannot be written, the cursor must not skip their mails.
#[tokio::test]
async fn cursor_is_unchanged_if_its_rows_are_refused() {
    let subject = PostgresDatabase::open().await;
    let polls = Arc::clone(&subject.store.polls);
    let lease = held(&*polls).await;
    let mut connection = connect(&subject.database).await;
    let full = sqlx::query("ALTER TABLE polled ADD CHECK (delivery_id IS NULL)");
    must(full.execute(&mut connection).await);
    assert!(polls.save(&lease, vec![found("a")], "1").await.is_err());
    let row = sqlx::query_as("SELECT cursor, (SELECT count(*) FROM deliveries) FROM polls");
    let row: (String, i64) = must(row.fetch_one(&mut connection).await);
    assert_eq!(row, (String::new(), 0));
    subject.close().await;
}
