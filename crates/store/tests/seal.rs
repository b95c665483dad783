//! What stands in the columns, looked at past the store's own code.

use std::time::Duration;

use pipeline::{Claimed, Consumed, Keep, Processed, StoreError, Waste};
use sqlx::{Connection, PgConnection, SqliteConnection};
use store::{OpenError, SealKey, Secrets, Settings};
use testkit::store_contract::{LONG, Seams, Subject, code, inbox, must, request, server_key};

use crate::subject::{Directory, PostgresDatabase, SqliteFile};

/// Somebody who can write to the database swaps the sealed columns of two rows.
const SWAPPED_BODIES: &str = "UPDATE deliveries AS a SET body = b.body FROM deliveries AS b
    WHERE a.id <> b.id AND a.state = 'pending' AND b.state = 'pending'";
const SWAPPED_VALUES: &str =
    "UPDATE artifacts AS a SET value = b.value FROM artifacts AS b WHERE a.id <> b.id";

#[tokio::test]
async fn a_sealed_value_moved_to_another_row_of_postgres_does_not_open() {
    let subject = PostgresDatabase::open().await;
    let mut other = must(PgConnection::connect(&subject.database.url).await);
    let swap = async {
        must(sqlx::raw_sql(SWAPPED_BODIES).execute(&mut other).await);
        must(sqlx::raw_sql(SWAPPED_VALUES).execute(&mut other).await);
    };
    swapped_rows_do_not_open(&subject.seams(), swap).await;
    subject.close().await;
}

#[tokio::test]
async fn a_sealed_value_moved_to_another_row_of_sqlite_does_not_open() {
    let subject = SqliteFile::open().await;
    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    let swap = async {
        must(sqlx::raw_sql(SWAPPED_BODIES).execute(&mut other).await);
        must(sqlx::raw_sql(SWAPPED_VALUES).execute(&mut other).await);
    };
    swapped_rows_do_not_open(&subject.seams(), swap).await;
    subject.close().await;
}

async fn swapped_rows_do_not_open(seams: &Seams, swap: impl Future<Output = ()>) {
    let to = inbox("agent");
    // The same length, so that nothing but the seal can tell them apart.
    let one = seams.bring(&to, "m1", code(&to, "111111")).await;
    let two = seams.bring(&to, "m2", code(&to, "222222")).await;
    let deliveries = [seams.new_delivery("a").await, seams.new_delivery("b").await];
    swap.await;
    for artifact in [one, two] {
        let answer = seams.agents.consume(&request(artifact, "agent", "k")).await;
        assert!(matches!(answer, Err(StoreError::Broken(_))), "{answer:?}");
    }
    // Nothing was used up by that.
    let items = seams.items(&to).await;
    assert!(items.iter().all(|item| item.consumed_at.is_none()));
    for delivery in deliveries {
        let claimed = seams.work.claim(delivery, LONG).await;
        assert!(matches!(claimed, Err(StoreError::Broken(_))), "{claimed:?}");
    }
}

#[tokio::test]
async fn without_the_key_a_value_waits_and_is_not_used_up() {
    let directory = Directory::new();
    let store = must(store::open(&directory.settings()).await);
    let to = inbox("agent");
    let seams = crate::subject::seams(&store);
    let artifact = seams.bring(&to, "m1", code(&to, "493817")).await;
    let delivery = seams.new_delivery("evt").await;
    store.close().await;

    let other = Secrets {
        keyring: SealKey::new([8; 32]).into(),
        server_key: server_key(),
    };
    let settings = Settings::new(directory.url().into()).sealed_with(other);
    let store = must(store::open(&settings).await);
    let asked = request(artifact, "agent", "k");
    let answer = store.agents.consume(&asked).await;
    assert!(
        matches!(answer, Err(StoreError::Unavailable(_))),
        "{answer:?}"
    );
    let claimed = store.work.claim(delivery, LONG).await;
    assert!(
        matches!(claimed, Err(StoreError::Unavailable(_))),
        "{claimed:?}"
    );
    store.close().await;

    let store = must(store::open(&directory.settings()).await);
    let answer = must(store.agents.consume(&asked).await);
    assert!(matches!(answer, Consumed::First { .. }), "{answer:?}");
    let claimed = must(store.work.claim(delivery, LONG).await);
    assert!(matches!(claimed, Claimed::Yours(..)), "{claimed:?}");
    store.close().await;
}

/// Not even sealed: whoever gets the keys later finds nothing to open.
#[tokio::test]
async fn wiped_bytes_are_gone_from_the_files_of_sqlite() {
    let subject = SqliteFile::open().await;
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    seams.consume(&request(id, "agent", "k")).await;
    // Longer than a page, so that it has pages of its own.
    let long = testkit::store_contract::delivery("long", &b"x".repeat(20_000));
    let long = seams.record(long).await.id();
    let (claim, _) = seams.claim(long, LONG).await;
    seams.complete(claim, Processed::default()).await;

    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    let sealed = "SELECT value FROM artifacts UNION ALL SELECT body FROM deliveries";
    let sealed: Vec<Vec<u8>> = must(sqlx::query_scalar(sealed).fetch_all(&mut other).await);
    must(other.close().await);
    // The ends: the beginning of a long one shares its page with its row.
    let ends: Vec<&[u8]> = sealed.iter().map(|it| &it[it.len() - 16..]).collect();
    let found = |ends: &[&[u8]]| {
        let files =
            ["", "-wal"].map(|suffix| format!("{}{suffix}", subject.directory.file().display()));
        let bytes: Vec<u8> = files
            .iter()
            .flat_map(|file| must(std::fs::read(file)))
            .collect();
        let is_there = |end: &&&[u8]| bytes.windows(16).any(|window| window == **end);
        ends.iter().filter(is_there).count()
    };
    assert_eq!(
        (found(&ends), ends.len()),
        (3, 3),
        "there is something to wipe"
    );
    let keep = Keep {
        consumed_values: Duration::ZERO,
        expired_values: Duration::ZERO,
        done_bodies: Duration::ZERO,
        buried_bodies: Duration::ZERO,
        items: LONG,
        known: LONG,
        consumes: LONG,
    };
    for what in [Waste::Values, Waste::Bodies] {
        must(subject.store.retention.discard(what, &keep, 100).await);
    }
    assert_eq!(found(&ends), 0);
    subject.close().await;
}

#[tokio::test]
async fn a_database_is_not_opened_without_keys() {
    let directory = Directory::new();
    let refused = store::open(&Settings::new(directory.url().into())).await;
    assert!(matches!(refused.err(), Some(OpenError::NoSecrets)));
    assert!(!directory.file().exists());
}

#[tokio::test]
async fn a_database_from_before_the_first_release_is_refused() {
    let directory = Directory::new();
    must(store::migrate(&directory.settings()).await);
    let mut raw = must(SqliteConnection::connect(&directory.url()).await);
    let older = sqlx::raw_sql("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1");
    must(older.execute(&mut raw).await);
    let refused = store::open(&directory.settings()).await.err();
    assert!(
        matches!(refused, Some(OpenError::Unreleased(_))),
        "{refused:?}"
    );
}
