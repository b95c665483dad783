//! What only a file has to keep.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Claimed, Completed, Processed, Reason, Recorded};
use store::{Migrated, OpenError};
use testkit::poll_contract::{found, held};
use testkit::store_contract::{LONG, StoreSubject, code, delivery, inbox, must};

use crate::subject::{Directory, SqliteFile, seams};

#[tokio::test]
async fn file_is_in_use_until_its_first_opener_closes_it() {
    let directory = Directory::new();
    let first = must(store::open(&directory.settings()).await);
    let second = store::open(&directory.settings()).await;
    assert!(matches!(second.err(), Some(OpenError::InUse(_))));
    let migrator = store::migrate(&directory.settings()).await;
    assert!(matches!(migrator.err(), Some(OpenError::InUse(_))));
    first.close().await;
    let third = must(store::open(&directory.settings()).await);
    third.close().await;
}

#[tokio::test]
async fn reopened_file_has_its_deliveries_and_items() {
    let directory = Directory::new();
    let store = must(store::open(&directory.settings()).await);
    let to = inbox("agent");
    let id = seams(&store).new_delivery("evt_1").await;
    seams(&store).bring(&to, "m1", code(&to, "493817")).await;
    store.close().await;

    let store = must(store::open(&directory.settings()).await);
    let again = seams(&store).record(delivery("evt_1", b"evt_1")).await;
    assert_eq!(again, Recorded::Duplicate(id));
    assert_eq!(seams(&store).items(&to).await.len(), 1);
    store.close().await;
}

#[tokio::test]
async fn claims_of_a_dead_process_are_released_when_the_file_is_opened() {
    let directory = Directory::new();
    let store = must(store::open(&directory.settings()).await);
    let held = seams(&store).new_delivery("held").await;
    let waits = seams(&store).new_delivery("waits").await;
    let (claim, _) = seams(&store).claim(waits, LONG).await;
    let why = Reason::new("test");
    must(store.work.retry_later(claim, LONG, why).await);
    let counted = seams(&store).new_delivery("counted").await;
    let (claim, _) = seams(&store).claim(counted, LONG).await;
    must(store.work.count_attempt(&claim).await);
    seams(&store).claim(held, LONG).await;
    let answer = must(store.work.claim(held, LONG).await);
    assert!(matches!(answer, Claimed::NotNow));
    store.close().await;

    let store = must(store::open(&directory.settings()).await);
    assert_eq!(must(store.deliveries.due(10).await), [held]);
    let (claim, _) = seams(&store).claim(held, Duration::ZERO).await;
    assert_eq!((claim.attempt, claim.unended), (1, 1));
    // One that may kill the process does not do so at each start.
    for not_yet in [waits, counted] {
        let answer = must(store.work.claim(not_yet, LONG).await);
        assert!(matches!(answer, Claimed::NotNow));
    }
    store.close().await;
}

#[tokio::test]
async fn migrate_returns_what_it_applied_and_applies_it_once() {
    let directory = Directory::new();
    let first = must(store::migrate(&directory.settings()).await);
    let second = must(store::migrate(&directory.settings()).await);
    assert_eq!(
        (first.applied.first(), first.present),
        (Some(&"0001_pipeline"), 0)
    );
    let expected = Migrated {
        applied: Vec::new(),
        present: first.applied.len(),
    };
    assert_eq!(second, expected);
}

/// Marks a migration as applied that this binary does not know.
async fn apply_newer(directory: &Directory, version: i64, name: &str) {
    let raw = must(sqlx::SqlitePool::connect(&directory.url()).await);
    let newer = sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ($1, $2, true, x'00', 0)",
    );
    must(newer.bind(version).bind(name).execute(&raw).await);
    raw.close().await;
}

#[tokio::test]
async fn a_file_with_newer_additive_migrations_is_used() {
    let directory = Directory::new();
    let settings = directory.settings();
    must(store::migrate(&settings).await);
    apply_newer(&directory, 9998, "9998_more").await;
    assert_eq!(must(store::plan(&settings).await).newer, ["9998_more"]);
    for settings in [settings.clone(), settings.as_guest()] {
        let store = must(store::open(&settings).await);
        must(store.probe.probe().await);
        store.close().await;
    }
}

#[tokio::test]
async fn a_file_with_a_newer_contracting_migration_is_refused() {
    let directory = Directory::new();
    must(store::migrate(&directory.settings()).await);
    apply_newer(&directory, 9999, "9999_contract_more").await;
    let opened = store::open(&directory.settings()).await;
    let refused = opened.err();
    assert!(
        matches!(
            refused,
            Some(OpenError::MigrationsNewer { found: 9999, .. })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_plan_lists_missing_migrations_and_creates_no_file() {
    let directory = Directory::new();
    let settings = directory.settings();
    let plan = must(store::plan(&settings).await);
    assert_eq!((plan.present, plan.missing[0].name), (0, "0001_pipeline"));
    assert!(!directory.file().exists());
    // Also beside the process that has the file open.
    let store = must(store::open(&settings).await);
    let done = must(store::plan(&settings).await);
    assert_eq!(
        (done.present, done.missing),
        (plan.missing.len(), Vec::new())
    );
    store.close().await;
}

#[tokio::test]
async fn guest_requeues_beside_the_owner_and_releases_no_claim() {
    let directory = Directory::new();
    let owner = must(store::open(&directory.settings()).await);
    let held = seams(&owner).new_delivery("held").await;
    let (claim, _) = seams(&owner).claim(held, LONG).await;
    let given_up = seams(&owner).new_delivery("given_up").await;
    let (other, _) = seams(&owner).claim(given_up, LONG).await;
    let why = Reason::new("test");
    must(owner.work.dead_letter(other, why).await);

    let guest = must(store::open(&directory.settings().as_guest()).await);
    assert_eq!(must(guest.failures.dead_letters(10).await).len(), 1);
    assert!(must(guest.failures.requeue(given_up).await));
    guest.close().await;

    assert_eq!(must(owner.deliveries.due(10).await), [given_up]);
    seams(&owner).complete(claim, Processed::default()).await;
    owner.close().await;
}

#[tokio::test]
async fn guest_neither_creates_nor_migrates_a_file() {
    let directory = Directory::new();
    let guest = directory.settings().as_guest();
    let refused = store::open(&guest).await.err();
    assert!(
        matches!(refused, Some(OpenError::Connect(_))),
        "{refused:?}"
    );
    must(std::fs::write(directory.file(), b""));
    let refused = store::open(&guest).await.err();
    assert!(
        matches!(refused, Some(OpenError::MigrationsMissing(_))),
        "{refused:?}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn database_files_have_mode_600() {
    use std::os::unix::fs::PermissionsExt;

    let directory = Directory::new();
    let store = must(store::open(&directory.settings()).await);
    seams(&store).new_delivery("evt_1").await;
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let file = format!("{}{suffix}", directory.file().display());
        let mode = must(std::fs::metadata(&file)).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
    store.close().await;
}

/// Where the rows cannot be written, the cursor must not pass them by.
#[tokio::test]
async fn cursor_is_unchanged_if_its_rows_are_refused() {
    let subject = SqliteFile::open().await;
    let polls = Arc::clone(&subject.store.polls);
    let lease = held(&*polls).await;
    let file = must(sqlx::SqlitePool::connect(&subject.directory.url()).await);
    let full = sqlx::query(
        "CREATE TRIGGER full BEFORE INSERT ON polled BEGIN SELECT RAISE(ABORT, 'full'); END",
    );
    must(full.execute(&file).await);
    assert!(polls.save(&lease, vec![found("a")], "1").await.is_err());
    let row = sqlx::query_as("SELECT cursor, (SELECT count(*) FROM deliveries) FROM polls");
    let row: (String, i64) = must(row.fetch_one(&file).await);
    assert_eq!(row, (String::new(), 0));
    must(sqlx::query("DROP TRIGGER full").execute(&file).await);
    file.close().await;
    let saved = must(polls.save(&lease, vec![found("a")], "1").await);
    assert!(matches!(saved, Completed::Done(answers) if answers.len() == 1));
    subject.close().await;
}
