//! A full disk refuses writes and loses nothing; when there is space again, the same
//! store writes again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pipeline::{Processed, Reason, Recorded, StoreError};
use store::{OpenError, Settings, Store};
use testkit::disk::SmallDisk;
use testkit::store_contract::{LONG, code, delivery, held, inbox, mail, must};
use tokio::time::Instant;

use crate::subject::{seams, secrets};

fn file(disk: &SmallDisk) -> PathBuf {
    disk.path().join("maillatch.db")
}

fn settings(disk: &SmallDisk) -> Settings {
    Settings::new(format!("sqlite:{}", file(disk).display()).into()).sealed_with(secrets())
}

/// Records a delivery of 16 KB.
async fn record(store: &Store, name: &str) -> Result<Recorded, StoreError> {
    let post = delivery(name, name.repeat(16 * 1024 / name.len()).as_bytes());
    let recorded = store.deliveries.record(vec![post]).await?;
    Ok(recorded
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("no answer")))
}

/// Records deliveries until a write is refused, because the log has no space left.
/// Returns what was recorded before that.
async fn record_until_full(store: &Store, name: &str) -> Vec<Recorded> {
    let mut recorded = Vec::new();
    for number in 0..1000 {
        match record(store, &format!("{name}_{number}")).await {
            Ok(answer) => recorded.push(answer),
            Err(StoreError::Unavailable(_)) => return recorded,
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("the disk is not full");
}

/// Tries until the writer works again, for five seconds.
async fn recorded_again(store: &Store, name: &str) -> Recorded {
    let freed = Instant::now();
    loop {
        match record(store, name).await {
            Ok(answer) => return answer,
            Err(error) => assert!(freed.elapsed() < Duration::from_secs(30), "{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_disk_was_full_writes_again_when_there_is_space() {
    let disk = SmallDisk::mount(2, "");
    let store = must(store::open(&settings(&disk)).await);
    let mut recorded = vec![must(record(&store, "first").await)];
    for round in 0..3 {
        disk.fill();
        recorded.extend(record_until_full(&store, &format!("round_{round}")).await);
        // A second refusal on the connection that replaced the first one's.
        assert!(record(&store, &format!("refused_{round}")).await.is_err());
        disk.free();
        recorded.push(recorded_again(&store, &format!("again_{round}")).await);
    }
    // All that was acknowledged is there, and nothing else.
    let backlog = must(store.deliveries.backlog().await);
    assert_eq!(backlog.unfinished, recorded.len() as u64);
    store.close().await;
}

/// Transactions of several statements and statements that commit by themselves.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_write_works_again_after_a_full_disk() {
    let disk = SmallDisk::mount(2, "");
    let store = must(store::open(&settings(&disk)).await);
    let seams = seams(&store);
    let first = seams.new_delivery("first").await;
    let second = seams.new_delivery("second").await;
    disk.fill();
    record_until_full(&store, "filling").await;
    let (claim, other) = (
        store.work.claim(first, LONG).await,
        store.work.claim(second, Duration::ZERO).await,
    );
    assert!(claim.is_err() && other.is_err(), "{claim:?} {other:?}");
    disk.free();
    recorded_again(&store, "again").await;
    let (claim, _) = seams.claim(first, LONG).await;
    let (other, _) = seams.claim(second, LONG).await;

    disk.fill();
    record_until_full(&store, "filling_again").await;
    let to = inbox("agent");
    let mails = (0..40).map(|number| {
        let name = format!("m{number}");
        mail(&to, &name, vec![code(&to, &name)])
    });
    let completed = store.work.complete(claim, held(mails.collect())).await;
    assert!(completed.is_err(), "{completed:?}");
    let why = Reason::new("test");
    let given_up = store.work.dead_letter(other, why).await;
    assert!(given_up.is_err(), "{given_up:?}");
    disk.free();
    recorded_again(&store, "again_again").await;
    assert!(seams.items(&to).await.is_empty());
    assert!(!store.probe.needs_restart().await);
    let id = seams.new_delivery("last").await;
    let (claim, _) = seams.claim(id, LONG).await;
    seams.complete(claim, Processed::default()).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_full_disk_names_the_path() {
    let disk = SmallDisk::mount(2, "");
    disk.fill();
    let refused = store::open(&settings(&disk)).await.err();
    let Some(OpenError::DiskFull(path)) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(Path::new(path), file(&disk));
    disk.free();
    must(store::open(&settings(&disk)).await).close().await;
}
