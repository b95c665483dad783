//! Processes of two versions share a database during an upgrade.

use pipeline::{
    AttemptConsume, AttemptConsumed, AttemptOutcome, NewInbox, NewKey, Permission, Scope,
};
use sqlx::{Connection, PgConnection};
use store::{Settings, Store};
use testkit::poll_contract::{found, held};
use testkit::store_contract::{LONG, attempt, code, inbox, must, request, resend, suited};

use crate::subject::{Database, seams};

/// Postgres refuses a prepared statement whose columns have changed. The process under
/// test has one connection, which has prepared every statement before the migration.
#[tokio::test(flavor = "multi_thread")]
async fn columns_added_by_a_migration_break_no_statement_of_a_running_process() {
    let database = Database::create().await;
    let settings = Settings {
        migrate: true,
        max_connections: 1,
        ..database.settings()
    };
    let store = must(store::open(&settings).await);
    use_most_operations(&store, "before").await;
    let mut other = must(PgConnection::connect(&database.url).await);
    let additions = sqlx::raw_sql(
        "DO $$ DECLARE name text; BEGIN
             FOR name IN SELECT tablename FROM pg_tables
                         WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations'
             LOOP EXECUTE format('ALTER TABLE %I ADD COLUMN later text', name); END LOOP;
         END $$",
    );
    must(additions.execute(&mut other).await);
    use_most_operations(&store, "after").await;
    drop(other);
    store.close().await;
    database.drop().await;
}

async fn use_most_operations(store: &Store, name: &str) {
    use_inboxes(store, name).await;
    use_attempts(store, name).await;
    use_keys(store, name).await;
    let seams = seams(store);
    let to = inbox(name);
    let plain = format!("{name}_plain");
    let artifact = seams.bring(&to, &plain, code(&to, "271828")).await;
    seams.consume(&request(artifact, "agent", &plain)).await;
    must(seams.agents.feed_bounds(&to).await);
    must(seams.deliveries.due(10).await);
    must(seams.deliveries.backlog().await);
    must(seams.failures.dead_letters(10).await);
    let lease = held(&*store.polls).await;
    must(store.polls.save(&lease, vec![found(name)], name).await);
    must(store.polls.release(&lease).await);
    must(store.silence.source_health().await);
}

async fn use_inboxes(store: &Store, name: &str) {
    let (old, new) = (inbox(&format!("{name}_old")), inbox(&format!("{name}_new")));
    let asked = NewInbox {
        inbox: old.clone(),
        owner: must("agent".parse()),
        rules: pipeline::InboxRules::default(),
        expires_in: None,
        retention: None,
        metadata: None,
        asked: None,
    };
    let log = &store.inboxes;
    assert!(must(log.create_inbox(asked).await).fresh().is_some());
    assert!(must(log.inbox(&old, &Scope::All).await).is_some());
    let rotated = log.rotate_inbox(&old, &new, &Scope::All, None);
    assert!(must(rotated.await).fresh().is_some());
    assert!(must(log.expire_inbox(&new, &Scope::All).await).is_some());
    assert!(!must(log.inboxes(&Scope::All, None, 10).await).is_empty());
}

async fn use_attempts(store: &Store, name: &str) {
    let (to, log) = (inbox(name), &store.attempts);
    let asked = attempt(&to);
    let id = asked.id;
    must(log.open_attempt(asked).await);
    must(log.resend(&resend(id, "agent", name)).await);
    let value = suited(code(&to, "493817"), &[id]);
    seams(store).bring(&to, name, value).await;
    let asked = AttemptConsume {
        attempt: id,
        consumer: must("agent".parse()),
        scope: Scope::All,
        idempotency_key: must(name.parse()),
        replay_window: LONG,
    };
    let consumed = must(log.consume_attempt(&asked).await);
    assert!(
        matches!(consumed, AttemptConsumed::Value { .. }),
        "{consumed:?}"
    );
    assert!(must(log.attempt(id, &Scope::All).await).is_some());
    let finished = log.finish_attempt(id, &Scope::All, AttemptOutcome::Succeeded, None);
    must(finished.await);
    assert!(!seams(store).items(&to).await.is_empty());
}

async fn use_keys(store: &Store, name: &str) {
    let key = NewKey {
        id: name.to_owned(),
        name: must(name.parse()),
        hash: [7; 32],
        permissions: vec![Permission::Feed],
        inboxes: Vec::new(),
        expires_in: None,
        asked: None,
    };
    assert!(must(store.keys.create_key(key).await).fresh().is_some());
    assert!(must(store.keys.live_key(name).await).is_some());
    must(store.keys.key_used(name).await);
    assert!(!must(store.keys.keys().await).is_empty());
    assert!(must(store.keys.revoke_key(&must(name.parse())).await).is_some());
}
