//! Callers drop their requests halfway: a client hangs up, a handler times out, a task is
//! aborted. What was acknowledged to other callers must still be committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pipeline::{Claimed, DeliveryId, StoreError};
use sqlx::{Connection, PgConnection, SqliteConnection};
use testkit::store_contract::{
    LONG, Seams, StoreSubject, code, delivery, held, inbox, mail, must, request,
};
use testkit::wait::until;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::subject::{PostgresDatabase, SqliteFile};

#[tokio::test(flavor = "multi_thread")]
async fn post_acknowledged_by_postgres_is_committed_while_other_callers_are_dropped() {
    let subject = PostgresDatabase::open().await;
    let acknowledged = record_while_callers_are_dropped(&subject.seams()).await;
    let mut other = must(PgConnection::connect(&subject.database.url).await);
    let mut committed = 0;
    for id in &acknowledged {
        let row: Option<i32> = must(
            sqlx::query_scalar("SELECT 1 FROM deliveries WHERE id = $1")
                .bind(id.as_uuid())
                .fetch_optional(&mut other)
                .await,
        );
        committed += usize::from(row.is_some());
    }
    assert_eq!(committed, acknowledged.len());
    subject.store.close().await;
    let in_transaction: i64 = must(
        sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
        )
        .fetch_one(&mut other)
        .await,
    );
    assert_eq!(in_transaction, 0);
    drop(other);
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn post_acknowledged_by_sqlite_is_committed_while_other_callers_are_dropped() {
    let subject = SqliteFile::open().await;
    let acknowledged = record_while_callers_are_dropped(&subject.seams()).await;
    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    let mut committed = 0;
    for id in &acknowledged {
        let row: Option<i32> = must(
            sqlx::query_scalar("SELECT 1 FROM deliveries WHERE id = $1")
                .bind(id.as_uuid())
                .fetch_optional(&mut other)
                .await,
        );
        committed += usize::from(row.is_some());
    }
    assert_eq!(committed, acknowledged.len());
    must(other.close().await);
    subject.close().await;
}

/// Records deliveries one after the other, while other callers begin transactions and
/// drop them at every possible moment. Returns the ids that were acknowledged.
async fn record_while_callers_are_dropped(seams: &Seams) -> Vec<DeliveryId> {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut dropping = JoinSet::new();
    for caller in 0..6 {
        dropping.spawn(drop_requests(seams.clone(), caller, Arc::clone(&is_over)));
    }
    let mut acknowledged = Vec::new();
    for number in 0..300 {
        acknowledged.push(record_until_acknowledged(seams, number).await);
    }
    is_over.store(true, Ordering::Release);
    let dropped: usize = dropping.join_all().await.into_iter().sum();
    assert!(
        dropped > 100,
        "only {dropped} requests were dropped halfway"
    );
    acknowledged
}

/// Posts again while the store says that it is unavailable, as a provider does: on a
/// slow disk the work that the others left behind can be a long queue.
async fn record_until_acknowledged(seams: &Seams, number: usize) -> DeliveryId {
    loop {
        let post = delivery(&format!("evt_{number}"), b"body");
        match seams.deliveries.record(vec![post]).await {
            Ok(answers) => return must(answers.first().ok_or("no answer")).id(),
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Begins work and drops it after a time that differs in each round. Each round ends with
/// work that it waits for, so that dropped work cannot pile up in the store. Returns how
/// often work was dropped.
async fn drop_requests(seams: Seams, caller: u64, is_over: Arc<AtomicBool>) -> usize {
    let to = inbox(&format!("agent-{caller}"));
    let mut dropped = 0;
    for round in 0_u64.. {
        if is_over.load(Ordering::Acquire) {
            break;
        }
        let pause = Duration::from_micros((round * 137 + caller * 61) % 3000);
        let name = format!("vanish_{caller}_{round}");
        let batch = vec![
            delivery(&name, b"body"),
            delivery(&format!("{name}b"), b"body"),
        ];
        dropped += usize::from(
            timeout(pause, seams.deliveries.record(batch))
                .await
                .is_err(),
        );
        let artifact = code(&to, &name);
        let id = artifact.id;
        let processing = async {
            let Ok(Claimed::Yours(claim, _)) = claim_any(&seams, &name).await else {
                return;
            };
            let messages = vec![mail(&to, &name, vec![artifact])];
            drop(seams.work.complete(claim, held(messages)).await);
        };
        dropped += usize::from(timeout(pause * 4, processing).await.is_err());
        let asked = request(id, "agent", &name);
        dropped += usize::from(timeout(pause, seams.agents.consume(&asked)).await.is_err());
        drop(claim_any(&seams, &name).await);
    }
    dropped
}

async fn claim_any(seams: &Seams, name: &str) -> Result<Claimed, StoreError> {
    let answers = seams
        .deliveries
        .record(vec![delivery(name, b"body")])
        .await?;
    let Some(answer) = answers.first() else {
        return Ok(Claimed::NotNow);
    };
    seams.work.claim(answer.id(), LONG).await
}

/// How long a worker waits here before it gives up.
const PATIENCE: Duration = Duration::from_millis(500);

/// Claims while something in the database is in the way, and gives up.
async fn claim_and_give_up(seams: &Seams, id: DeliveryId) {
    let claimed = timeout(PATIENCE, seams.work.claim(id, LONG)).await;
    assert!(claimed.is_err(), "{claimed:?}");
}

/// Waits until the delivery can be claimed, long before the lease of another claim ends.
async fn claim_again(seams: &Seams, id: DeliveryId) {
    let claim = until("the delivery can be claimed", || async {
        match must(seams.work.claim(id, LONG).await) {
            Claimed::Yours(claim, _) => Some(claim),
            _ => None,
        }
    });
    assert_eq!(claim.await.unended, 0, "it counts as a crash of the worker");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_gives_back_the_claim_of_a_worker_that_gave_up() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let id = record_until_acknowledged(&seams, 1).await;
    let mut other = must(PgConnection::connect(&subject.database.url).await);
    let lock = "BEGIN; SELECT FROM deliveries FOR UPDATE";
    must(sqlx::raw_sql(lock).execute(&mut other).await);
    claim_and_give_up(&seams, id).await;
    must(sqlx::raw_sql("COMMIT").execute(&mut other).await);
    claim_again(&seams, id).await;
    drop(other);
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_gives_back_the_claim_of_a_worker_that_gave_up() {
    let subject = SqliteFile::open().await;
    let seams = subject.seams();
    let id = record_until_acknowledged(&seams, 1).await;
    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    must(sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await);
    claim_and_give_up(&seams, id).await;
    must(sqlx::raw_sql("COMMIT").execute(&mut other).await);
    claim_again(&seams, id).await;
    must(other.close().await);
    subject.close().await;
}

/// A disk may take seconds for a commit.
#[tokio::test(flavor = "multi_thread")]
async fn claim_that_a_slow_disk_delays_for_three_seconds_reaches_its_worker() {
    let subject = SqliteFile::open().await;
    let seams = subject.seams();
    let id = record_until_acknowledged(&seams, 1).await;
    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    must(sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await);
    let slow = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        must(sqlx::raw_sql("COMMIT").execute(&mut other).await);
    };
    let (claimed, ()) = tokio::join!(seams.work.claim(id, LONG), slow);
    assert!(matches!(claimed, Ok(Claimed::Yours(..))), "{claimed:?}");
    must(other.close().await);
    subject.close().await;
}
