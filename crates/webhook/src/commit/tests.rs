use std::sync::Mutex as StdMutex;

use async_trait::async_trait;
use futures_util::future::join_all;
use pipeline::{Backlog, ContentDigest, DeliveryId, DeliveryKey, OnConflict, QueueError};
use prometheus_client::registry::Registry;
use store::Store;
use tempfile::TempDir;
use testkit::wait::until;
use tokio::sync::Semaphore;

use super::*;

/// A real database behind a gate: recording waits until the gate is opened.
struct Gate {
    store: Store,
    passes: Semaphore,
    /// The size of every batch that reached the gate.
    batches: StdMutex<Vec<usize>>,
    _directory: TempDir,
}

impl Gate {
    async fn new() -> Arc<Self> {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("test.db").display());
        Arc::new(Self {
            store: store::open(&store::Settings::new(url.into()).sealed_with(secrets()))
                .await
                .unwrap(),
            passes: Semaphore::new(0),
            batches: StdMutex::default(),
            _directory: directory,
        })
    }

    fn arrived(&self) -> Vec<usize> {
        self.batches.lock().unwrap().clone()
    }

    fn open(&self) {
        self.passes.add_permits(1000);
    }
}

#[async_trait]
impl DeliveryLog for Gate {
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError> {
        self.batches.lock().unwrap().push(batch.len());
        self.passes.acquire().await.unwrap().forget();
        assert!(
            batch.iter().all(|one| one.body != b"panic"),
            "a test asked for it"
        );
        self.store.deliveries.record(batch).await
    }

    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.store.deliveries.due(limit).await
    }

    async fn claimable(&self, ahead: Duration, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.store.deliveries.claimable(ahead, limit).await
    }

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        wait: Duration,
    ) -> Result<(), StoreError> {
        self.store.deliveries.mark_notified(deliveries, wait).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.store.deliveries.backlog().await
    }
}

/// A doorbell that remembers its notifications.
#[derive(Default)]
struct Notifications(StdMutex<Vec<DeliveryId>>);

#[async_trait]
impl Doorbell for Notifications {
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        self.0.lock().unwrap().extend(deliveries);
        Ok(())
    }
}

fn start(gate: &Arc<Gate>, settings: &Settings) -> (Committer, Arc<Notifications>) {
    let notifications = Arc::new(Notifications::default());
    let meters = Meters::register(&mut Registry::default());
    let log = Arc::<Gate>::clone(gate);
    let doorbell = Arc::<Notifications>::clone(&notifications);
    (
        Committer::start(log, doorbell, meters, settings),
        notifications,
    )
}

fn delivery(id: &str, body: &[u8]) -> NewDelivery {
    let source = "test".parse().unwrap();
    NewDelivery {
        id: DeliveryId::new(),
        key: DeliveryKey::from_provider_id(&source, id),
        source,
        content: ContentDigest::of(&[body]),
        content_type: "application/json".to_owned(),
        body: body.into(),
        on_conflict: OnConflict::Keep,
    }
}

async fn commit(committer: &Committer, delivery: NewDelivery) -> Result<Recorded, CommitError> {
    let reservation = committer.reserve(account()).unwrap();
    committer.commit(delivery, reservation).await
}

fn long_timeout(batch: usize) -> Settings {
    Settings {
        commit_timeout: Duration::from_mins(1),
        committers: 1,
        batch,
        ..Settings::default()
    }
}

/// Commits `count` deliveries that all wait before the first commit ends. Returns the
/// sizes of the batches.
async fn batch_sizes(count: usize, batch: usize) -> Vec<usize> {
    let gate = Gate::new().await;
    let (committer, _) = start(&gate, &long_timeout(batch));
    let first = {
        let committer = committer.clone();
        tokio::spawn(async move { commit(&committer, delivery("first", b"0")).await })
    };
    until("the first commit", || async {
        (gate.arrived() == [1]).then_some(())
    })
    .await;
    let deliveries: Vec<NewDelivery> = (0..count).map(|n| delivery(&n.to_string(), b"x")).collect();
    let expected: Vec<_> = deliveries
        .iter()
        .map(|one| Ok(Recorded::New(one.id)))
        .collect();
    // `join!` polls its futures in order, so every delivery is queued before the
    // gate opens.
    let all = join_all(deliveries.into_iter().map(|one| commit(&committer, one)));
    let (answers, ()) = tokio::join!(all, async { gate.open() });
    assert_eq!(answers, expected, "each post gets its own answer");
    assert!(first.await.unwrap().is_ok());
    gate.arrived()
}

#[tokio::test]
async fn waiting_posts_share_one_commit_and_get_their_own_answers() {
    assert_eq!(batch_sizes(20, 64).await, [1, 20]);
}

#[tokio::test]
async fn commit_batch_size_is_bounded() {
    assert_eq!(batch_sizes(20, 8).await, [1, 8, 8, 4]);
}

/// Two posts of the same delivery wait, one after the other, before the gate is opened.
async fn twice(gate: &Arc<Gate>, committer: &Committer, body: &[u8]) -> [Committed; 2] {
    let [one, other] = [delivery("same", body), delivery("same", body)];
    let open = async { gate.open() };
    let (one, other, ()) = tokio::join!(commit(committer, one), commit(committer, other), open);
    [one, other]
}

type Committed = Result<Recorded, CommitError>;

#[tokio::test]
async fn post_that_repeats_one_being_recorded_is_answered_from_its_commit() {
    let gate = Gate::new().await;
    let (committer, notifications) = start(&gate, &long_timeout(64));
    let [first, repeat] = twice(&gate, &committer, b"x").await;
    let id = first.unwrap().id();
    assert_eq!(repeat, Ok(Recorded::Duplicate(id)));
    assert_eq!(
        gate.arrived(),
        [1],
        "only the first is sent to the database"
    );
    // After the commit the database decides.
    let later = commit(&committer, delivery("same", b"x")).await;
    assert_eq!(later, Ok(Recorded::Duplicate(id)));
    assert_eq!(gate.arrived(), [1, 1]);
    committer.finish().await;
    assert_eq!(*notifications.0.lock().unwrap(), [id], "one notification");
}

#[tokio::test]
async fn post_that_repeats_a_refused_one_is_refused() {
    let gate = Gate::new().await;
    let (committer, _) = start(&gate, &long_timeout(64));
    gate.open();
    let holder = commit(&committer, delivery("token", b"x"))
        .await
        .unwrap()
        .id();
    let again = || NewDelivery {
        on_conflict: OnConflict::Refuse,
        ..delivery("token", b"y")
    };
    let (one, other) = tokio::join!(commit(&committer, again()), commit(&committer, again()));
    assert_eq!([one, other], [Ok(Recorded::Refused(holder)); 2]);
    assert_eq!(gate.arrived(), [1, 1]);
}

#[tokio::test]
async fn post_that_repeats_one_whose_commit_fails_gets_no_2xx_and_may_retry() {
    let gate = Gate::new().await;
    let (committer, _) = start(&gate, &long_timeout(64));
    let failed = twice(&gate, &committer, b"panic").await;
    assert_eq!(failed, [Err(CommitError::Failed); 2]);
    let again = commit(&committer, delivery("same", b"panic")).await;
    assert_eq!(again, Err(CommitError::Failed), "it is recorded anew");
    assert_eq!(gate.arrived(), [1, 1]);
}

#[tokio::test]
async fn post_with_other_content_is_recorded_beside_one_with_its_id() {
    let gate = Gate::new().await;
    let (committer, _) = start(&gate, &long_timeout(64));
    let [one, other] = [delivery("same", b"x"), delivery("same", b"y")];
    let open = async { gate.open() };
    let (one, other, ()) = tokio::join!(commit(&committer, one), commit(&committer, other), open);
    assert!(one.unwrap().is_fresh());
    assert!(matches!(other, Ok(Recorded::Conflict(_))), "{other:?}");
}

#[tokio::test]
async fn commit_timeout_ends_the_wait_and_not_the_commit() {
    let gate = Gate::new().await;
    let settings = Settings {
        commit_timeout: Duration::from_millis(50),
        ..Settings::default()
    };
    let (committer, notifications) = start(&gate, &settings);
    let late = delivery("late", b"x");
    let id = late.id;
    assert_eq!(commit(&committer, late).await, Err(CommitError::Late));
    gate.open();
    committer.finish().await;
    assert_eq!(gate.backlog().await.unwrap().unfinished, 1);
    assert_eq!(*notifications.0.lock().unwrap(), [id]);
}

#[tokio::test]
async fn dropped_caller_does_not_cancel_the_commit() {
    let gate = Gate::new().await;
    let (committer, _) = start(&gate, &long_timeout(64));
    let caller = {
        let committer = committer.clone();
        tokio::spawn(async move { commit(&committer, delivery("gone", b"x")).await })
    };
    until("the commit", || async {
        (gate.arrived() == [1]).then_some(())
    })
    .await;
    caller.abort();
    gate.open();
    committer.finish().await;
    assert_eq!(gate.backlog().await.unwrap().unfinished, 1);
}

#[tokio::test]
async fn queued_posts_are_committed_and_answered_at_shutdown() {
    let gate = Gate::new().await;
    let (committer, notifications) = start(&gate, &long_timeout(4));
    let queued = join_all((0..10).map(|n| commit(&committer, delivery(&n.to_string(), b"x"))));
    let (answers, (), ()) = tokio::join!(queued, committer.clone().finish(), async { gate.open() });
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(gate.backlog().await.unwrap().unfinished, 10);
    assert_eq!(notifications.0.lock().unwrap().len(), 10);
    let after = commit(&committer, delivery("after", b"x")).await;
    assert_eq!(after, Err(CommitError::Closed));
}

#[tokio::test]
async fn panic_while_recording_fails_only_its_batch() {
    let gate = Gate::new().await;
    let (committer, _) = start(&gate, &long_timeout(64));
    gate.open();
    let bad = commit(&committer, delivery("bad", b"panic")).await;
    assert_eq!(bad, Err(CommitError::Failed));
    assert!(commit(&committer, delivery("good", b"x")).await.is_ok());
}

#[tokio::test]
async fn body_bytes_stay_reserved_until_the_commit_ends() {
    let gate = Gate::new().await;
    let settings = Settings {
        in_flight_bytes: 1024,
        commit_timeout: Duration::from_millis(50),
        ..Settings::default()
    };
    let (committer, _) = start(&gate, &settings);
    let late = commit(&committer, delivery("late", b"x")).await;
    assert_eq!(late, Err(CommitError::Late));
    assert!(
        committer.reserve(account()).is_err(),
        "its bytes are still being recorded"
    );
    gate.open();
    until("the bytes are released", || async {
        committer.reserve(account()).ok()
    })
    .await;
}

fn account() -> Account {
    Account {
        peer: None,
        source: "test".parse().unwrap(),
    }
}

fn secrets() -> store::Secrets {
    store::Secrets {
        keyring: store::SealKey::new([7; 32]).into(),
        server_key: pipeline::ServerKey::new([7; 32]),
    }
}
