//! A worker under test: a SQLite store, an in-process queue and one source.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{
    ArtifactView, Backoff, ContentDigest, DeliveryId, DeliveryKey, Meters, NewDelivery, OnConflict,
    Recorded, Seq, ServerKey, SystemClock, UpstreamBackoff,
};
use prometheus_client::registry::Registry;
use providers::{SourceSettings, Sources};
use queue::Queue;
use store::Store;
use tempfile::TempDir;
use tokio::sync::RwLock;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use worker::{Deps, Fetcher, InboxPolicy, ParserThreads, Settings};

const TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) queue: Queue,
    pub(crate) deps: Arc<Deps>,
    dir: TempDir,
}

impl Fixture {
    pub(crate) async fn open() -> Self {
        let secret = format!("whsec_{}", STANDARD.encode([7; 32]));
        let source = SourceSettings::standard_webhooks([secret.into()]);
        Self::with_sources(BTreeMap::from([("dev".to_owned(), source)])).await
    }

    pub(crate) async fn with_sources(sources: BTreeMap<String, SourceSettings>) -> Self {
        // Only the first call in the process installs the TLS provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("test.db").display());
        let store = store::open(&store::Settings::new(url.into()).sealed_with(secrets()))
            .await
            .unwrap();
        let queue = queue::open(&queue::Settings::default()).await.unwrap();
        let sources = Sources::build(sources).unwrap();
        let deps = Arc::new(Deps {
            work: Arc::clone(&store.work),
            echoes: Arc::clone(&store.echoes),
            deliveries: Arc::clone(&store.deliveries),
            doorbell: Arc::clone(&queue.doorbell),
            queue: Arc::clone(&queue.probe),
            failures: Arc::clone(&store.failures),
            sources: Arc::new(sources),
            reading: RwLock::default(),
            parser_threads: ParserThreads::new(2),
            fetcher: fetcher(),
            dkim: None,
            callback_due: Arc::default(),
            server_key: ServerKey::new([1; 32]),
            meters: Meters::register(&mut Registry::default()),
            settings: settings(),
        });
        Self {
            store,
            queue,
            deps,
            dir,
        }
    }

    /// Opens the same database with another sealing key.
    pub(crate) async fn with_other_seal_key(&self) -> Store {
        let url = format!("sqlite:{}", self.dir.path().join("test.db").display());
        let mut secrets = secrets();
        secrets.keyring = store::SealKey::new([8; 32]).into();
        let settings = store::Settings::new(url.into()).sealed_with(secrets);
        store::open(&settings.as_guest()).await.unwrap()
    }

    /// Records a delivery of the source `dev` and notifies the queue of it.
    pub(crate) async fn record(&self, id: &str, body: &[u8]) -> DeliveryId {
        self.record_from("dev", id, body).await
    }

    pub(crate) async fn record_from(&self, source: &str, id: &str, body: &[u8]) -> DeliveryId {
        let id = self
            .record_without_notification(source, id, body)
            .await
            .id();
        self.queue.doorbell.notify(&[id]).await.unwrap();
        id
    }

    /// Records a delivery without a notification.
    pub(crate) async fn record_without_notification(
        &self,
        source: &str,
        id: &str,
        body: &[u8],
    ) -> Recorded {
        self.record_as(source, id, "application/json", body).await
    }

    /// Records a delivery of any content type, without a notification. A slow disk makes
    /// the database unavailable for a moment; like a provider, this tries again.
    pub(crate) async fn record_as(
        &self,
        source: &str,
        id: &str,
        content_type: &str,
        body: &[u8],
    ) -> Recorded {
        testkit::wait::until("the delivery is recorded", async || {
            let delivery = new_delivery(source, id, content_type, body);
            let recorded = self.store.deliveries.record(vec![delivery]).await;
            recorded.ok().map(|recorded| recorded[0])
        })
        .await
    }

    /// Runs worker and sweeper until nothing is left to do, then stops them.
    pub(crate) async fn work_until_idle(&self) {
        let recorded = self.unfinished().await;
        self.work_until(|done| done >= recorded).await;
        assert_eq!(self.unfinished().await, 0);
    }

    /// Runs worker and sweeper until `enough` of the deliveries that were
    /// unfinished at the start are done, then stops them.
    pub(crate) async fn work_until(&self, enough: impl Fn(u64) -> bool) {
        let before = self.unfinished().await;
        let stop = CancellationToken::new();
        let working = tokio::spawn(worker::run(
            Arc::clone(&self.deps),
            self.queue.bell(),
            stop.clone(),
        ));
        let deps = Arc::clone(&self.deps);
        let stop_sweeping = stop.clone();
        let sweeping =
            tokio::spawn(async move { worker::sweep_forever(&deps, stop_sweeping).await });
        let deadline = Instant::now() + TIMEOUT;
        // A post with several mails adds deliveries while it is processed.
        while !enough(before.saturating_sub(self.unfinished().await)) {
            assert!(
                Instant::now() < deadline,
                "the worker did not finish in time"
            );
            sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
        working.await.unwrap();
        sweeping.await.unwrap();
    }

    async fn unfinished(&self) -> u64 {
        self.store.deliveries.backlog().await.unwrap().unfinished
    }

    /// How many unfinished deliveries cannot be claimed. Each check is a claim whose
    /// lease ends at once, so it makes the delivery a suspect and changes nothing else.
    pub(crate) async fn held_claims(&self) -> usize {
        let mut held = 0;
        for id in self.store.deliveries.due(1000).await.unwrap() {
            let claimed = self.store.work.claim(id, Duration::ZERO).await.unwrap();
            held += usize::from(matches!(claimed, pipeline::Claimed::NotNow));
        }
        held
    }

    pub(crate) async fn items(&self, inbox: &str) -> Vec<ArtifactView> {
        let inbox = inbox.parse().unwrap();
        self.store
            .agents
            .artifacts(&inbox, Seq::START, 100)
            .await
            .unwrap()
    }
}

/// A delivery that is not recorded yet.
pub(crate) fn new_delivery(source: &str, id: &str, content_type: &str, body: &[u8]) -> NewDelivery {
    let source = source.parse().unwrap();
    NewDelivery {
        id: DeliveryId::new(),
        key: DeliveryKey::from_provider_id(&source, id),
        source,
        content: ContentDigest::of(&[body]),
        content_type: content_type.to_owned(),
        body: body.to_vec(),
        on_conflict: OnConflict::Keep,
    }
}

fn fetcher() -> Fetcher {
    Fetcher::new(Arc::new(SystemClock), Duration::from_secs(5), 100_000)
}

fn settings() -> Settings {
    Settings {
        concurrency: 4,
        lease: Duration::from_secs(30),
        backoff: Backoff {
            first: Duration::from_millis(10),
            factor: 1,
            attempts: 3,
            ..Backoff::default()
        },
        upstream_backoff: UpstreamBackoff {
            first: Duration::from_millis(10),
            ceiling: Duration::from_millis(20),
            // Long enough for a loaded machine to retry often within it.
            wall_clock: Duration::from_secs(4),
        },
        parse_budget: Duration::from_secs(20),
        inboxes: InboxPolicy::from_domains(["inbox.test"]),
        policy: extract::Policy {
            links: extract::Allowlist::parse(["example.com"]).unwrap(),
            ..extract::Policy::default()
        },
        lifetime: Duration::from_mins(15),
        same_value_window: Duration::from_hours(24 * 365),
        needs_proof: false,
        replies: worker::ReplySettings::default(),
        sweep_every: Duration::from_millis(20),
        notify_again_after: Duration::from_secs(5),
    }
}

/// The native payload around a raw mail.
pub(crate) fn payload(recipient: &str, raw: &[u8]) -> Vec<u8> {
    let raw = STANDARD.encode(raw);
    let text = format!(
        r#"{{"type":"email.received","data":{{"recipients":["{recipient}"],"raw":"{raw}"}}}}"#
    );
    text.into_bytes()
}

/// A plain mail with a code.
pub(crate) fn otp_mail(message_id: &str, code: &str) -> Vec<u8> {
    let text = format!(
        "From: Example <no-reply@example.com>\r\n\
         To: agent@inbox.test\r\n\
         Message-ID: <{message_id}@example.com>\r\n\
         Date: Sun, 15 Nov 2026 10:00:00 +0000\r\n\
         Subject: Your verification code\r\n\
         \r\n\
         Your verification code is {code}.\r\n"
    );
    text.into_bytes()
}

/// A mail of `depth` messages, each inside the one before.
pub(crate) fn nested(depth: usize) -> Vec<u8> {
    "Content-Type:message/rfc822\n\n".repeat(depth).into_bytes()
}

fn secrets() -> store::Secrets {
    store::Secrets {
        keyring: store::SealKey::new([7; 32]).into(),
        server_key: ServerKey::new([7; 32]),
    }
}
