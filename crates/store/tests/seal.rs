//! Sealed columns, read and changed with plain SQL beside the store.

use std::time::Duration;

use pipeline::{
    Claimed, Completed, Consumed, NewAttempt, Processed, RetentionKind, RetentionPeriods,
    SendRecorded, StoreError, UnsealError,
};
use sqlx::{Connection, PgConnection, SqliteConnection};
use store::{Keyring, OpenError, SealKey, Sealing, Secrets, Settings, Store};
use testkit::send_contract::{new_send, shop};
use testkit::store_contract::{
    LONG, Seams, StoreSubject, attempt, code, delivery, held, inbox, mail, must, request,
    server_key, suited,
};

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
    let [first, _] = deliveries;
    for delivery in deliveries {
        let claimed = must(seams.work.claim(delivery, LONG).await);
        let Claimed::Unsealable(claim, UnsealError::Damaged) = claimed else {
            panic!("{claimed:?}");
        };
        // Whoever claimed it can put it where an operator sees it.
        let buried = seams
            .work
            .dead_letter(claim, UnsealError::Damaged.reason())
            .await;
        assert_eq!(must(buried), Completed::Done(()));
    }
    let buried = must(seams.failures.dead_letters(10).await);
    assert!(buried.iter().all(|it| it.reason.as_str() == "damaged"));
    assert!(must(seams.failures.requeue(first).await));
}

#[tokio::test]
async fn value_whose_key_is_missing_is_unavailable_and_not_consumed() {
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
    let claimed = must(store.work.claim(delivery, LONG).await);
    assert!(
        matches!(claimed, Claimed::Unsealable(_, UnsealError::KeyUnknown)),
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

/// A store that seals under the key of the first of these bytes.
fn sealing_under(settings: Settings, keys: &[u8]) -> Settings {
    let keys = keys.iter().map(|byte| SealKey::new([*byte; 32])).collect();
    settings.as_guest().sealed_with(Secrets {
        keyring: must(Keyring::of(keys)),
        server_key: server_key(),
    })
}

#[tokio::test]
async fn row_sealed_under_a_retired_key_is_refused_by_sqlite() {
    let subject = SqliteFile::open().await;
    let settings = || subject.directory.settings();
    let late = must(store::open(&sealing_under(settings(), &[7])).await);
    let new = must(store::open(&sealing_under(settings(), &[9, 7])).await);
    row_sealed_under_a_retired_key_is_refused(&late, &new).await;
    subject.close().await;
}

#[tokio::test]
async fn row_sealed_under_a_retired_key_is_refused_by_postgres() {
    let subject = PostgresDatabase::open().await;
    let settings = || subject.database.settings();
    let late = must(store::open(&sealing_under(settings(), &[7])).await);
    let new = must(store::open(&sealing_under(settings(), &[9, 7])).await);
    row_sealed_under_a_retired_key_is_refused(&late, &new).await;
    subject.close().await;
}

/// `late` still seals under a key that `new` has retired.
async fn row_sealed_under_a_retired_key_is_refused(late: &Store, new: &Store) {
    let (retired, sealing) = (SealKey::new([7; 32]), SealKey::new([9; 32]));
    let to = inbox("agent");
    let at_work = crate::subject::seams(late);
    let begun = at_work.new_delivery("begun").await;
    let (claim, _) = at_work.claim(begun, LONG).await;
    must(new.forbid(retired.id()).await);
    // A second call changes nothing.
    must(new.forbid(retired.id()).await);

    let refused = late.deliveries.record(vec![delivery("late", b"x")]).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    let processed = held(vec![mail(&to, "m", vec![code(&to, "493817")])]);
    let refused = late.work.complete(claim, processed).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    // Existing rows can be sealed again under the new key, but not under the retired one.
    let anew = must(new.reseal(Sealing::Bodies, sealing.id(), None, 10).await);
    assert_eq!((anew.count, anew.stuck), (1, 0));
    let back = new.reseal(Sealing::Bodies, retired.id(), None, 10).await;
    assert!(matches!(back, Err(StoreError::Unavailable(_))), "{back:?}");
    assert_eq!(must(new.sealed_under(Sealing::Values).await), []);
    let taken = new.deliveries.record(vec![delivery("late", b"x")]).await;
    assert!(must(taken).iter().all(|taken| taken.is_fresh()));
    late.close().await;
    new.close().await;
}

#[tokio::test]
async fn sends_under_a_retired_key_are_resealed_in_sqlite() {
    let subject = SqliteFile::open().await;
    let settings = || subject.directory.settings();
    let open = async |keys: &[u8]| must(store::open(&sealing_under(settings(), keys)).await);
    Box::pin(sends_under_a_retired_key_are_resealed(open)).await;
    subject.close().await;
}

#[tokio::test]
async fn sends_under_a_retired_key_are_resealed_in_postgres() {
    let subject = PostgresDatabase::open().await;
    let settings = || subject.database.settings();
    let open = async |keys: &[u8]| must(store::open(&sealing_under(settings(), keys)).await);
    Box::pin(sends_under_a_retired_key_are_resealed(open)).await;
    subject.close().await;
}

/// A process without the old key dispatches the bytes that were rendered under it.
async fn sends_under_a_retired_key_are_resealed(open: impl AsyncFn(&[u8]) -> Store) {
    let (retired, sealing) = (SealKey::new([7; 32]), SealKey::new([9; 32]));
    let (late, new) = (open(&[7]).await, open(&[9, 7]).await);
    for entity in ["a", "b", "c"] {
        let recorded = must(late.sends.record_send(new_send(entity)).await);
        assert!(matches!(recorded, SendRecorded::New(_)), "{recorded:?}");
    }
    must(new.forbid(retired.id()).await);
    let refused = late.sends.record_send(new_send("late")).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    let reseal = async |from| {
        let resealed = new.reseal(Sealing::SendContents, sealing.id(), from, 2);
        must(resealed.await)
    };
    let first = reseal(None).await;
    assert_eq!((first.count, first.stuck), (2, 0));
    let second = reseal(first.next).await;
    assert_eq!((second.count, second.stuck, second.next), (1, 0, None));
    let under = must(new.sealed_under(Sealing::SendContents).await);
    assert_eq!(under, [(sealing.id().to_string(), 3)]);
    late.close().await;
    new.close().await;

    let only_new = open(&[9]).await;
    let claimed = must(only_new.outbox.claim_ready(&[shop()], 10, LONG).await);
    let mut payloads: Vec<_> = claimed.iter().map(|it| it.payload.as_bytes()).collect();
    payloads.sort_unstable();
    assert_eq!(payloads, [b"rendered a", b"rendered b", b"rendered c"]);
    only_new.close().await;
}

/// A row that was being written when its key was forbidden must be visible before anybody
/// counts the rows under that key.
#[tokio::test]
async fn retiring_a_key_waits_for_open_transactions_of_postgres() {
    let subject = PostgresDatabase::open().await;
    let mut writer = must(PgConnection::connect(&subject.database.url).await);
    must(
        sqlx::raw_sql("BEGIN; LOCK TABLE artifacts IN ROW EXCLUSIVE MODE")
            .execute(&mut writer)
            .await,
    );
    let retired = SealKey::new([7; 32]);
    let mut forbidding = Box::pin(subject.store.forbid(retired.id()));
    let early = tokio::time::timeout(Duration::from_millis(300), &mut forbidding).await;
    assert!(early.is_err(), "a transaction is still open");
    must(sqlx::raw_sql("COMMIT").execute(&mut writer).await);
    must(forbidding.await);
    subject.close().await;
}

const CUT: &str = "UPDATE deliveries SET body = substr(body, 2);
                   UPDATE artifacts SET value = substr(value, 2)";

/// How a test damages rows.
enum Spoil {
    /// Every sealed value lacks its first byte.
    Cut,
    /// The deadline of every callback has passed.
    Late,
}

#[tokio::test]
async fn row_that_cannot_be_opened_delays_no_other_in_sqlite() {
    let subject = SqliteFile::open().await;
    let url = subject.directory.url();
    let spoil = async |how: Spoil| {
        let mut other = must(SqliteConnection::connect(&url).await);
        let spoilt = sqlx::raw_sql(match how {
            Spoil::Cut => CUT,
            Spoil::Late => {
                "UPDATE callbacks SET deadline = (SELECT now FROM clock) - 1, due_at = 1
                 WHERE state = 'pending'"
            }
        });
        must(spoilt.execute(&mut other).await);
    };
    let new = sealing_under(subject.directory.settings(), &[9, 7]);
    let new = must(store::open(&new).await);
    row_that_cannot_be_opened_delays_no_other(&subject.store, &new, spoil).await;
    subject.close().await;
}

#[tokio::test]
async fn row_that_cannot_be_opened_delays_no_other_in_postgres() {
    let subject = PostgresDatabase::open().await;
    let url = subject.database.url.clone();
    let spoil = async |how: Spoil| {
        let mut other = must(PgConnection::connect(&url).await);
        let spoilt = sqlx::raw_sql(match how {
            Spoil::Cut => CUT,
            Spoil::Late => {
                "UPDATE callbacks SET deadline = now() - interval '1 millisecond',
                                      due_at = now()
                 WHERE state = 'pending'"
            }
        });
        must(spoilt.execute(&mut other).await);
    };
    let new = sealing_under(subject.database.settings(), &[9, 7]);
    let new = must(store::open(&new).await);
    row_that_cannot_be_opened_delays_no_other(&subject.store, &new, spoil).await;
    subject.close().await;
}

/// `new` has a newer key than `store` has.
async fn row_that_cannot_be_opened_delays_no_other(
    store: &Store,
    new: &Store,
    spoil: impl AsyncFn(Spoil),
) {
    let seams = crate::subject::seams(store);
    call_for(&seams, "111111").await;
    spoil(Spoil::Cut).await;
    call_for(&seams, "222222").await;
    let claimed = must(
        store
            .callbacks
            .claim_callbacks(10, Duration::ZERO, &[])
            .await,
    );
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    let dead = must(store.callbacks.dead_callbacks(10).await);
    let reasons: Vec<&str> = dead.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons, ["damaged"]);

    let key = SealKey::new([9; 32]);
    for column in Sealing::ALL {
        let resealed = must(new.reseal(column, key.id(), None, 10).await);
        // Nothing is sent or answered here.
        let has_none = [Sealing::SendContents, Sealing::ReplyContexts].contains(&column);
        let rows = u64::from(!has_none);
        assert_eq!((resealed.count, resealed.stuck), (rows, rows), "{column:?}");
    }
    new.close().await;

    // `store` does not have the key of the other value now.
    let waits = must(
        store
            .callbacks
            .claim_callbacks(10, Duration::ZERO, &[])
            .await,
    );
    assert!(waits.is_empty(), "{waits:?}");
    assert_eq!(must(store.callbacks.dead_callbacks(10).await).len(), 1);
    spoil(Spoil::Late).await;
    let over = must(
        store
            .callbacks
            .claim_callbacks(10, Duration::ZERO, &[])
            .await,
    );
    assert!(over.is_empty(), "{over:?}");
    let dead = must(store.callbacks.dead_callbacks(10).await);
    let mut reasons: Vec<&str> = dead.iter().map(|it| it.reason.as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["damaged", "key_unknown"]);
}

/// Stores a code that is due to be sent to a callback.
async fn call_for(seams: &Seams, value: &str) {
    let asked = NewAttempt {
        callback: Some("flow".to_owned()),
        ..attempt(&inbox(value))
    };
    let (to, id) = (asked.inbox.clone(), asked.id);
    must(seams.attempts.open_attempt(asked).await);
    seams
        .bring(&to, value, suited(code(&to, value), &[id]))
        .await;
}

/// Not even sealed bytes are left, so a key that leaks later opens nothing.
#[tokio::test]
async fn wiped_bytes_are_gone_from_the_files_of_sqlite() {
    let subject = SqliteFile::open().await;
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    seams.consume(&request(id, "agent", "k")).await;
    // Longer than a page, so that it has pages of its own.
    let long = delivery("long", &b"x".repeat(20_000));
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
    let keep = RetentionPeriods {
        consumed_values: Duration::ZERO,
        expired_values: Duration::ZERO,
        done_bodies: Duration::ZERO,
        dead_letter_bodies: Duration::ZERO,
        items: LONG,
        known: LONG,
        consumes: LONG,
        send_contents: LONG,
        send_events: LONG,
        intents: LONG,
    };
    for what in [RetentionKind::Values, RetentionKind::Bodies] {
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
