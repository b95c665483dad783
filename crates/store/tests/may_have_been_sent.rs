//! What may have been sent, where the contract does not reach: content that does not open, and
//! a version that did not remember it.

use std::time::Duration;

use pipeline::{
    OperatorSettlement, Reason, SendClaim, SendDecided, SendDecision, SendId, SendPermit,
    SendResult, SendState, SendWritten, Settlement,
};
use sqlx::{Connection, PgConnection, SqliteConnection};
use store::Store;
use testkit::send_contract::{new_send, shop};
use testkit::store_contract::{LONG, StoreSubject, must};

use crate::subject::{PostgresDatabase, SqliteFile};

const WHY: Reason = Reason::new("test");
const AT_ONCE: Duration = Duration::ZERO;

/// Somebody who can write to the database swaps the contents of two sends.
const SWAPPED_CONTENTS: &str =
    "UPDATE sends AS a SET content = b.content FROM sends AS b WHERE a.id <> b.id";
const FORGOTTEN: &str = "UPDATE sends SET may_have_been_sent = false";
const READY_AGAIN: &str =
    "UPDATE sends SET state = 'ready', due_at = created_at WHERE state = 'uncertain'";
const LEASE_OVER: &str = "UPDATE sends SET lease_until = created_at WHERE state = 'dispatched'";
/// A database of the version before.
const WITHOUT_COLUMN: &str = "ALTER TABLE sends DROP COLUMN may_have_been_sent;
    DELETE FROM _sqlx_migrations WHERE version = 20";
const REMEMBERED: &str = "SELECT entity FROM sends WHERE may_have_been_sent ORDER BY entity";

async fn in_postgres(subject: &PostgresDatabase, sql: &'static str) {
    let mut other = must(PgConnection::connect(&subject.database.url).await);
    must(sqlx::raw_sql(sql).execute(&mut other).await);
}

async fn in_sqlite(subject: &SqliteFile, sql: &'static str) {
    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    must(sqlx::raw_sql(sql).execute(&mut other).await);
}

/// Records a send and claims it.
async fn claimed(store: &Store, entity: &str) -> SendClaim {
    must(store.sends.record_send(new_send(entity)).await);
    let claimed = must(store.outbox.claim_ready(&[shop()], 10, LONG).await);
    let [send] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    send.claim
}

/// Records a send and dispatches it, with this result.
async fn dispatched(store: &Store, entity: &str, result: SendResult) -> SendId {
    let claim = claimed(store, entity).await;
    let permit = store.outbox.dispatch(claim, AT_ONCE).await;
    assert_eq!(must(permit), SendPermit::Go);
    must(store.outbox.end_dispatch(claim, result).await);
    claim.send
}

/// The configuration of its sender makes the only uncertain send ready.
async fn sent_again_by_policy(store: &Store) {
    let claimed = must(store.outbox.claim_uncertain(&[shop()], 10, LONG).await);
    let [send] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    let settled = store.outbox.settle(send.claim, Settlement::Retry(WHY));
    assert_eq!(must(settled.await), SendWritten::Done(SendState::Ready));
}

async fn expect(store: &Store, send: SendId, state: SendState) {
    let view = must(store.sends.send(send).await).map(|view| (view.state, view.finished_at));
    assert_eq!(view.map(|(state, _)| state), Some(state));
    let is_finished = view.is_some_and(|(_, finished)| finished.is_some());
    assert_eq!(is_finished, state.is_final());
}

#[tokio::test]
async fn damaged_content_of_what_may_have_been_sent_is_uncertain_in_postgres() {
    let subject = PostgresDatabase::open().await;
    let swap = in_postgres(&subject, SWAPPED_CONTENTS);
    damaged_content_of_what_may_have_been_sent_is_uncertain(&subject.store, swap).await;
    subject.close().await;
}

#[tokio::test]
async fn damaged_content_of_what_may_have_been_sent_is_uncertain_in_sqlite() {
    let subject = SqliteFile::open().await;
    let swap = in_sqlite(&subject, SWAPPED_CONTENTS);
    damaged_content_of_what_may_have_been_sent_is_uncertain(&subject.store, swap).await;
    subject.close().await;
}

async fn damaged_content_of_what_may_have_been_sent_is_uncertain(
    store: &Store,
    swap: impl Future<Output = ()>,
) {
    let maybe = dispatched(store, "maybe", SendResult::Maybe(AT_ONCE, WHY)).await;
    let unsent = dispatched(store, "unsent", SendResult::NotSent(AT_ONCE, WHY)).await;
    sent_again_by_policy(store).await;
    swap.await;
    let claimed = must(store.outbox.claim_ready(&[shop()], 10, LONG).await);
    assert!(claimed.is_empty(), "{claimed:?}");
    expect(store, maybe, SendState::Uncertain).await;
    expect(store, unsent, SendState::Failed).await;
    let due = must(store.outbox.claim_uncertain(&[shop()], 10, LONG).await);
    assert!(due.is_empty(), "{due:?}");
}

#[tokio::test]
async fn versions_agree_on_what_may_have_been_sent_in_postgres() {
    let subject = PostgresDatabase::open().await;
    let sql = async |sql| in_postgres(&subject, sql).await;
    versions_agree_on_what_may_have_been_sent(&subject.store, sql).await;
    subject.close().await;
}

#[tokio::test]
async fn versions_agree_on_what_may_have_been_sent_in_sqlite() {
    let subject = SqliteFile::open().await;
    let sql = async |sql| in_sqlite(&subject, sql).await;
    versions_agree_on_what_may_have_been_sent(&subject.store, sql).await;
    subject.close().await;
}

/// A process of this version and one of the version before, which does not write the column.
async fn versions_agree_on_what_may_have_been_sent(store: &Store, sql: impl AsyncFn(&'static str)) {
    let maybe = || SendResult::Maybe(AT_ONCE, WHY);
    // The other one made it uncertain, this one makes it ready.
    let send = dispatched(store, "forgotten", maybe()).await;
    sql(FORGOTTEN).await;
    sent_again_by_policy(store).await;
    expect_not_cancelled(store, send).await;
    // This one made it uncertain, the other one makes it ready.
    let send = dispatched(store, "maybe", maybe()).await;
    sql(READY_AGAIN).await;
    expect_not_cancelled(store, send).await;
    let claim = claimed(store, "lease").await;
    let permit = store.outbox.dispatch(claim, AT_ONCE).await;
    assert_eq!(must(permit), SendPermit::Go);
    sql(LEASE_OVER).await;
    assert_eq!(must(store.outbox.expire_leases().await).uncertain, 1);
    sql(READY_AGAIN).await;
    expect_not_cancelled(store, claim.send).await;
}

/// A ready send cannot be cancelled. It is claimed afterwards.
async fn expect_not_cancelled(store: &Store, send: SendId) {
    let by = must("agent".parse());
    let cancelled = store.sends.decide_send(send, SendDecision::Cancel, &by);
    let SendDecided::NotNow(view) = must(cancelled.await) else {
        panic!("it may be sent");
    };
    assert_eq!(view.state, SendState::Ready);
    let claimed = must(store.outbox.claim_ready(&[shop()], 10, LONG).await);
    assert_eq!(claimed.len(), 1);
}

/// Sends of each kind that a database of the version before may have.
async fn fill(store: &Store) {
    let by = must("operator".parse());
    let maybe = || SendResult::Maybe(AT_ONCE, WHY);
    let retried = dispatched(store, "retried", maybe()).await;
    let retry = OperatorSettlement::Retry;
    must(store.sends.settle_send(retried, retry, &by).await);
    // Claimed, so that it is not claimed again.
    must(store.outbox.claim_ready(&[shop()], 10, LONG).await);
    dispatched(store, "again", maybe()).await;
    sent_again_by_policy(store).await;
    must(store.outbox.claim_ready(&[shop()], 10, LONG).await);
    dispatched(store, "refused", SendResult::Refused(WHY)).await;
    dispatched(store, "later", SendResult::NotSent(LONG, WHY)).await;
    dispatched(store, "uncertain", maybe()).await;
    must(store.sends.record_send(new_send("new")).await);
}

#[tokio::test]
async fn migration_marks_what_may_have_been_sent_in_postgres() {
    let subject = PostgresDatabase::open().await;
    fill(&subject.store).await;
    subject.store.close().await;
    in_postgres(&subject, WITHOUT_COLUMN).await;
    must(store::migrate(&subject.database.settings()).await);
    let mut other = must(PgConnection::connect(&subject.database.url).await);
    let remembered = sqlx::query_scalar(REMEMBERED).fetch_all(&mut other).await;
    assert_eq!(must::<Vec<String>, _>(remembered), ["again", "uncertain"]);
    subject.close().await;
}

#[tokio::test]
async fn migration_marks_what_may_have_been_sent_in_sqlite() {
    let subject = SqliteFile::open().await;
    fill(&subject.store).await;
    subject.store.close().await;
    in_sqlite(&subject, WITHOUT_COLUMN).await;
    must(store::migrate(&subject.directory.settings()).await);
    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    let remembered = sqlx::query_scalar(REMEMBERED).fetch_all(&mut other).await;
    assert_eq!(must::<Vec<String>, _>(remembered), ["again", "uncertain"]);
    subject.close().await;
}
