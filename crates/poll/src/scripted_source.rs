//! For tests: a poller with its own database, and a source with scripted answers.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    DeliveryId, Doorbell, Lease, Leased, PollerId, QueueError, SourceName, SystemClock, Timestamp,
};
use prometheus_client::registry::Registry;
use store::{SealKey, Secrets, Store};
use testkit::store_contract::server_key;
use tokio::sync::Notify;

use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};
use crate::deps::Deps;
use crate::meters::{Meters, Skipped};
use crate::settings::Settings;
use crate::source_loop::round::{HeldLease, Stop, Tally, round};

/// A doorbell that records its notifications.
#[derive(Default)]
pub(crate) struct RecordingDoorbell(pub(crate) Mutex<Vec<DeliveryId>>);

#[async_trait]
impl Doorbell for RecordingDoorbell {
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        self.0.lock().unwrap().extend(deliveries);
        Ok(())
    }
}

/// A poller with its own database.
pub(crate) struct TestPoller {
    pub(crate) deps: Deps,
    pub(crate) notified: Arc<RecordingDoorbell>,
    store: Store,
    _folder: tempfile::TempDir,
}

impl TestPoller {
    /// Five pages in a round; all timeouts are longer than any test.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("maillatch.db").display());
        let settings = store::Settings::new(url.into()).sealed_with(Secrets {
            keyring: SealKey::new([7; 32]).into(),
            server_key: server_key(),
        });
        let store = store::open(&settings).await.unwrap();
        let notified = Arc::new(RecordingDoorbell::default());
        let deps = Deps {
            polls: Arc::clone(&store.polls),
            silence: Arc::clone(&store.silence),
            doorbell: Arc::clone(&notified) as Arc<dyn Doorbell>,
            quota: Arc::default(),
            clock: Arc::new(SystemClock),
            poller: PollerId::new(),
            tasks: pipeline::Tasks::default(),
            meters: Meters::register(&mut Registry::default()),
            settings: Settings {
                every: Duration::from_mins(5),
                patience: Duration::from_secs(20),
                lease: Duration::from_hours(1),
                pages: 5,
                round_budget: Duration::from_mins(1),
                answer_budget: Duration::from_mins(1),
                message_limit: 1000,
                silence: Duration::from_hours(1),
            },
        };
        Self {
            deps,
            notified,
            store,
            _folder: folder,
        }
    }

    /// The lease of the source.
    pub(crate) async fn lease(&self) -> Lease {
        let (source, span) = (source(), self.deps.settings.lease);
        let leased = self.deps.polls.lease(&source, self.deps.poller, span).await;
        match leased.unwrap() {
            Leased::Yours(lease) => lease,
            Leased::Held => panic!("another poller holds the source"),
        }
    }

    /// One round of a source.
    pub(crate) async fn round(&self, client: &mut dyn SourceClient) -> Result<Tally, Stop> {
        self.round_for(client, &Notify::new()).await
    }

    /// The same while somebody waits.
    pub(crate) async fn round_for(
        &self,
        client: &mut dyn SourceClient,
        awaited: &Notify,
    ) -> Result<Tally, Stop> {
        let mut held = HeldLease::new(self.lease().await);
        round(&self.deps, client, &mut held, awaited, &mut |_| {}).await
    }

    /// How many deliveries there are. A slow disk makes the database unavailable for a
    /// moment, so this asks until it gets an answer.
    pub(crate) async fn rows(&self) -> u64 {
        testkit::wait::until("the deliveries are counted", async || {
            let backlog = self.store.deliveries.backlog().await;
            backlog.ok().map(|backlog| backlog.unfinished)
        })
        .await
    }

    /// How many mails were skipped for this reason.
    pub(crate) fn skipped(&self, why: &'static str) -> u64 {
        let source = source().to_string();
        let label = Skipped {
            source,
            reason: why,
        };
        self.deps.meters.skipped.get_or_create(&label).get()
    }
}

/// The name of the source in every test.
pub(crate) fn source() -> SourceName {
    "scripted".parse().unwrap()
}

/// A listed mail without a time.
pub(crate) fn listed(id: &impl ToString) -> ListedMail {
    ListedMail {
        id: id.to_string(),
        arrived_at: None,
        note: serde_json::Value::Null,
    }
}

/// A page of mails.
pub(crate) fn page(ids: &[&str], cursor: &str, has_more: bool) -> Page {
    Page {
        items: ids.iter().map(listed).collect(),
        cursor: cursor.to_owned(),
        has_more,
    }
}

/// A mail that can be fetched.
pub(crate) fn mail(item: &ListedMail) -> Fetched {
    let message = format!("Subject: {}\r\n\r\n", item.id);
    Fetched::Mail(FoundMail::raw(
        &["a@inbox.test".to_owned()],
        message.as_bytes(),
    ))
}

type Listing = Box<dyn FnMut(&str) -> Result<Page, PollError> + Send>;
/// `None` means that no answer comes.
type Fetching = Box<dyn FnMut(&ListedMail) -> Option<Result<Fetched, PollError>> + Send>;

/// A source with scripted answers that records its requests.
pub(crate) struct ScriptedSource {
    listing: Listing,
    fetching: Fetching,
    /// The cursor after a failure.
    pub(crate) restart: Option<&'static str>,
    /// The newest mails, which are read first when somebody waits.
    pub(crate) newest: Result<Vec<&'static str>, PollError>,
    /// The cursors of the requests.
    pub(crate) asked: Vec<String>,
    /// The mails that were requested.
    pub(crate) fetched: Vec<String>,
}

impl ScriptedSource {
    /// A source that gives every mail it lists.
    pub(crate) fn listing(
        listing: impl FnMut(&str) -> Result<Page, PollError> + Send + 'static,
    ) -> Self {
        Self {
            listing: Box::new(listing),
            fetching: Box::new(|item| Some(Ok(mail(item)))),
            restart: None,
            newest: Ok(Vec::new()),
            asked: Vec::new(),
            fetched: Vec::new(),
        }
    }

    /// The same source, with scripted mails.
    pub(crate) fn fetching(
        self,
        fetching: impl FnMut(&ListedMail) -> Option<Result<Fetched, PollError>> + Send + 'static,
    ) -> Self {
        Self {
            fetching: Box::new(fetching),
            ..self
        }
    }
}

#[async_trait]
impl SourceClient for ScriptedSource {
    async fn list(&mut self, cursor: &str, _now: Timestamp) -> Result<Page, PollError> {
        self.asked.push(cursor.to_owned());
        (self.listing)(cursor)
    }

    async fn newest(&mut self, _: &str, _: Timestamp) -> Result<Vec<ListedMail>, PollError> {
        Ok(self.newest.clone()?.iter().map(listed).collect())
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        self.fetched.push(item.id.clone());
        match (self.fetching)(item) {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    fn after_failure(&self, cursor: &str, _error: PollError) -> String {
        self.restart.unwrap_or(cursor).to_owned()
    }
}
