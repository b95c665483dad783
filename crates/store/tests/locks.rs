//! An operation that has waited for a lock judges by the time after the wait. In each
//! test another transaction holds a row that the operation needs, while the clock
//! passes a limit. `SQLite` has one writer and no such waits.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    AttemptFinished, AttemptId, AttemptOutcome, CallbackResult, Claimed, Consumed, Created, Leased,
    NewAttempt, NewInbox, Opened, PollerId, Reason, ReplyRecorded, ResendOutcome, Scope,
};
use sqlx::{Connection, PgConnection};
use testkit::poll_contract;
use testkit::reply_contract::{ReplySubject, arrives, letter, reply_to};
use testkit::store_contract::{
    LONG, StoreSubject, attempt, code, held, inbox, mail, must, request, resend, source, suited,
};
use testkit::wait::soon;
use tokio::task::JoinHandle;

use crate::subject::PostgresDatabase;

/// A transaction that holds rows.
pub(crate) struct Holder {
    connection: PgConnection,
}

impl Holder {
    /// Begins a transaction with a statement.
    pub(crate) async fn begin(subject: &PostgresDatabase, statement: &'static str) -> Self {
        let connection = must(PgConnection::connect(&subject.database.url).await);
        let mut holder = Self { connection };
        holder.execute("BEGIN").await;
        holder.execute(statement).await;
        holder
    }

    pub(crate) async fn execute(&mut self, statement: &'static str) {
        must(sqlx::raw_sql(statement).execute(&mut self.connection).await);
    }

    async fn is_true(&mut self, question: &'static str) -> bool {
        let question = sqlx::query_scalar(question);
        must(question.fetch_one(&mut self.connection).await)
    }

    /// Waits until the operation waits for this transaction.
    pub(crate) async fn blocks<T>(&mut self, operation: &JoinHandle<T>) {
        soon("the operation waits for the lock", async {
            while !self.is_true(BLOCKS_ANOTHER).await {
                assert!(!operation.is_finished(), "the operation did not wait");
            }
        })
        .await;
    }

    /// Executes the statement, waits until every limit in it has passed, and commits.
    async fn execute_wait_and_commit(mut self, statement: &'static str) {
        self.execute(statement).await;
        tokio::time::sleep(3 * SOON).await;
        self.execute("COMMIT").await;
    }
}

const BLOCKS_ANOTHER: &str = "SELECT EXISTS (
     SELECT 1 FROM pg_locks
     WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))";

/// What the statements below call `interval '50 milliseconds'`.
const SOON: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread")]
async fn rotating_an_inbox_that_expires_during_the_wait_is_refused() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    must(seams.inboxes.create_inbox(named("old")).await);
    let mut holder = Holder::begin(&subject, "SELECT FROM inboxes FOR UPDATE").await;
    let rotation = tokio::spawn(async move {
        let (old, new) = (inbox("old"), inbox("new"));
        let inboxes = seams.inboxes;
        inboxes.rotate_inbox(&old, &new, &Scope::All, None).await
    });
    holder.blocks(&rotation).await;
    holder.execute_wait_and_commit(INBOX_EXPIRES_SOON).await;
    let rotated = must(must(rotation.await));
    assert!(matches!(rotated, Created::Refused), "{rotated:?}");
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_an_attempt_in_an_inbox_that_expires_during_the_wait_is_refused() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    must(seams.inboxes.create_inbox(named("old")).await);
    let mut holder = Holder::begin(&subject, "SELECT FROM inboxes FOR UPDATE").await;
    let opening = tokio::spawn(async move {
        let asked = attempt(&inbox("old"));
        seams.attempts.open_attempt(asked).await
    });
    holder.blocks(&opening).await;
    holder.execute_wait_and_commit(INBOX_EXPIRES_SOON).await;
    let opened = must(must(opening.await));
    assert!(matches!(opened, Opened::InboxUnknown), "{opened:?}");
    subject.close().await;
}

const INBOX_EXPIRES_SOON: &str =
    "UPDATE inboxes SET expires_at = clock_timestamp() + interval '50 milliseconds'";

#[tokio::test(flavor = "multi_thread")]
async fn a_resend_for_an_attempt_that_ends_during_the_wait_is_refused() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let id = opened(&subject).await;
    let mut holder = Holder::begin(&subject, "SELECT FROM attempts FOR UPDATE").await;
    let asking = tokio::spawn(async move {
        let request = resend(id, "agent", "k");
        seams.attempts.resend(&request).await
    });
    holder.blocks(&asking).await;
    holder
        .execute_wait_and_commit(
            "UPDATE attempts SET deadline = clock_timestamp() + interval '50 milliseconds'",
        )
        .await;
    let resent = must(must(asking.await));
    assert!(matches!(resent, ResendOutcome::Over), "{resent:?}");
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_at_is_the_time_after_the_row_lock_was_granted() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let id = opened(&subject).await;
    let mut holder = Holder::begin(&subject, "UPDATE attempts SET resends = resends").await;
    let finishing = tokio::spawn(async move {
        let outcome = AttemptOutcome::Succeeded;
        let attempts = seams.attempts;
        attempts
            .finish_attempt(id, &Scope::All, outcome, None)
            .await
    });
    holder.blocks(&finishing).await;
    holder
        .execute_wait_and_commit("UPDATE attempts SET resent_at = clock_timestamp()")
        .await;
    let finished = must(must(finishing.await));
    assert!(
        matches!(finished, AttemptFinished::Finished(_)),
        "{finished:?}"
    );
    let mut reader = must(PgConnection::connect(&subject.database.url).await);
    let question = sqlx::query_scalar("SELECT finished_at > resent_at FROM attempts");
    let is_after: bool = must(question.fetch_one(&mut reader).await);
    assert!(is_after);
    drop(reader);
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_claimable_after_the_wait_is_claimed() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let mut holder = Holder::begin(&subject, "UPDATE deliveries SET attempts = attempts").await;
    let work = Arc::clone(&seams.work);
    let claiming = tokio::spawn(async move { work.claim(id, LONG).await });
    holder.blocks(&claiming).await;
    holder
        .execute_wait_and_commit(
            "UPDATE deliveries SET claimable_at = clock_timestamp() + interval '50 milliseconds'",
        )
        .await;
    let claimed = must(must(claiming.await));
    assert!(matches!(claimed, Claimed::Yours(..)), "{claimed:?}");
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_whose_lease_ends_during_the_wait_is_leased() {
    let subject = PostgresDatabase::open().await;
    let polls = Arc::clone(&subject.store.polls);
    poll_contract::held(&*polls).await;
    let mut holder = Holder::begin(&subject, "UPDATE polls SET cursor = cursor").await;
    let leasing = tokio::spawn(async move { polls.lease(&source(), PollerId::new(), LONG).await });
    holder.blocks(&leasing).await;
    holder
        .execute_wait_and_commit(
            "UPDATE polls SET expires_at = clock_timestamp() + interval '50 milliseconds'",
        )
        .await;
    let leased = must(must(leasing.await));
    assert!(matches!(leased, Leased::Yours(_)), "{leased:?}");
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_expires_during_the_wait_is_not_renewed() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let to = inbox("agent");
    let id = opened(&subject).await;
    let value = || suited(code(&to, "493817"), &[id]);
    seams.bring(&to, "m1", value()).await;
    let delivery = seams.new_delivery("m2").await;
    let (claim, _) = seams.claim(delivery, LONG).await;
    let repeated = held(vec![mail(&to, "m2", vec![value()])]);

    let mut holder = Holder::begin(&subject, "SELECT FROM inboxes FOR UPDATE").await;
    let work = Arc::clone(&seams.work);
    let completing = tokio::spawn(async move { work.complete(claim, repeated).await });
    holder.blocks(&completing).await;
    holder.execute_wait_and_commit(VALUE_EXPIRES_SOON).await;
    must(must(completing.await));
    let expired: Vec<bool> = seams
        .items(&to)
        .await
        .iter()
        .map(|it| it.is_expired)
        .collect();
    assert_eq!(expired, [true]);
    subject.close().await;
}

const VALUE_EXPIRES_SOON: &str =
    "UPDATE artifacts SET expires_at = clock_timestamp() + interval '50 milliseconds'";

/// Another consumer takes the value, waits until it has expired, and gives up. The
/// one that waited must not get it.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_expires_during_the_wait_is_not_consumed() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    let mut holder = Holder::begin(&subject, VALUE_EXPIRES_IN_A_SECOND).await;
    holder.execute("COMMIT; BEGIN").await;
    holder
        .execute(
            "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at)
             SELECT id, 'other', 'k', now() FROM artifacts",
        )
        .await;
    let agents = Arc::clone(&seams.agents);
    let consuming = tokio::spawn(async move { agents.consume(&request(id, "agent", "k")).await });
    holder.blocks(&consuming).await;
    holder.roll_back_after_expiry().await;
    let consumed = must(must(consuming.await));
    assert!(matches!(consumed, Consumed::Expired { .. }), "{consumed:?}");
    // It was not used up either.
    let items = seams.items(&to).await;
    let times: Vec<_> = items.iter().map(|it| it.consumed_at).collect();
    assert_eq!(times, [None]);
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_whose_value_expires_during_the_wait_is_not_requeued() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let to = inbox("flow");
    let asked = NewAttempt {
        callback: Some("flow".to_owned()),
        ..attempt(&to)
    };
    let id = asked.id;
    must(seams.attempts.open_attempt(asked).await);
    let value = suited(code(&to, "493817"), &[id]);
    seams.bring(&to, "m1", value).await;
    let log = Arc::clone(&subject.store.callbacks);
    let claimed = must(log.claim_callbacks(1, LONG, &[]).await);
    let [callback] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    let (id, token) = (callback.id, callback.token);
    let dead = CallbackResult::Dead(Reason::new("test"));
    assert!(must(log.end_callback(id, token, dead).await));

    let mut holder = Holder::begin(&subject, VALUE_EXPIRES_IN_A_SECOND).await;
    holder
        .execute("COMMIT; BEGIN; SELECT FROM callbacks FOR UPDATE")
        .await;
    let requeuing = tokio::spawn(async move { log.requeue_callback(id).await });
    holder.blocks(&requeuing).await;
    holder.roll_back_after_expiry().await;
    assert!(!must(must(requeuing.await)));
    subject.close().await;
}

/// Replies and sends count for the same caps, and would lock them in another order.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_waits_until_concurrent_sends_are_recorded() {
    let subject = PostgresDatabase::open().await;
    let message = arrives(&subject, letter("m", "t")).await;
    let sends = "SELECT pg_advisory_xact_lock(hashtext('maillatch sends'))";
    let mut holder = Holder::begin(&subject, sends).await;
    let replies = subject.replies();
    let reply = reply_to(message, "t");
    let replying = tokio::spawn(async move { replies.record_reply(reply).await });
    holder.blocks(&replying).await;
    holder.execute("COMMIT").await;
    let recorded = must(must(replying.await));
    assert!(matches!(recorded, ReplyRecorded::New(_)), "{recorded:?}");
    subject.close().await;
}

/// Long enough for an operation to begin, and less than it waits for a lock.
const VALUE_EXPIRES_IN_A_SECOND: &str =
    "UPDATE artifacts SET expires_at = clock_timestamp() + interval '1 second'";

impl Holder {
    async fn roll_back_after_expiry(mut self) {
        soon("the value expires", async {
            let question = "SELECT bool_and(expires_at < clock_timestamp()) FROM artifacts";
            while !self.is_true(question).await {}
        })
        .await;
        self.execute("ROLLBACK").await;
    }
}

fn named(name: &str) -> NewInbox {
    NewInbox {
        inbox: inbox(name),
        owner: must("agent".parse()),
        rules: pipeline::InboxRules::default(),
        expires_in: None,
        retention: None,
        metadata: None,
        asked: None,
    }
}

/// An attempt in the inbox `agent`.
async fn opened(subject: &PostgresDatabase) -> AttemptId {
    let asked = attempt(&inbox("agent"));
    let id = asked.id;
    must(subject.seams().attempts.open_attempt(asked).await);
    id
}
