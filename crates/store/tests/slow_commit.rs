//! The commit of a consume is slow, and its client asks again meanwhile. `SQLite` has one writer,
//! so the second request begins after the first.

use pipeline::{AttemptConsume, AttemptConsumed, Scope};
use secrecy::ExposeSecret;
use testkit::store_contract::{LONG, StoreSubject, attempt, code, inbox, must, suited};

use crate::locks::Holder;
use crate::subject::PostgresDatabase;

/// The first request, before its commit.
const FIRST_REQUEST: &str =
    "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
     SELECT id, 'agent', 'k', clock_timestamp(), 'attempt' FROM artifacts";

#[tokio::test(flavor = "multi_thread")]
async fn repeated_consume_gets_the_first_value_although_a_newer_one_has_arrived() {
    let subject = PostgresDatabase::open().await;
    let seams = subject.seams();
    let to = inbox("agent");
    let asked = attempt(&to);
    let id = asked.id;
    must(seams.attempts.open_attempt(asked).await);
    let older = suited(code(&to, "111111"), &[id]);
    let first = seams.bring(&to, "m1", older).await;
    let mut holder = Holder::begin(&subject, FIRST_REQUEST).await;
    let newer = suited(code(&to, "222222"), &[id]);
    seams.bring(&to, "m2", newer).await;
    let repeating = tokio::spawn(async move {
        let request = AttemptConsume {
            attempt: id,
            consumer: must("agent".parse()),
            scope: Scope::All,
            idempotency_key: must("k".parse()),
            replay_window: LONG,
        };
        seams.attempts.consume_attempt(&request).await
    });
    holder.blocks(&repeating).await;
    holder.execute("COMMIT").await;
    match must(must(repeating.await)) {
        AttemptConsumed::Value {
            artifact,
            value,
            is_replay,
            ..
        } => {
            assert_eq!((artifact, value.expose_secret()), (first, "111111"));
            assert!(is_replay);
        }
        other => panic!("{other:?}"),
    }
    subject.close().await;
}
