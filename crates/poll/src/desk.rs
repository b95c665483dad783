//! For tests: a poller over a database of its own, and a source that answers as
//! it is told to.

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

use crate::meters::{Meters, Skipped};
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::round::{Held, Stop, Tally, round};
use crate::run::Deps;
use crate::settings::Settings;

/// A bell that keeps in mind whom it was rung for.
#[derive(Default)]
pub(crate) struct Rung(pub(crate) Mutex<Vec<DeliveryId>>);

#[async_trait]
impl Doorbell for Rung {
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        self.0.lock().unwrap().extend(deliveries);
        Ok(())
    }
}

/// A poller and what it works with.
pub(crate) struct Desk {
    pub(crate) deps: Deps,
    pub(crate) rung: Arc<Rung>,
    store: Store,
    _folder: tempfile::TempDir,
}

impl Desk {
    /// Five pages in a round, and the rest of it longer than any test takes.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("maillatch.db").display());
        let settings = store::Settings::new(url.into()).sealed_with(Secrets {
            keyring: SealKey::new([7; 32]).into(),
            server_key: server_key(),
        });
        let store = store::open(&settings).await.unwrap();
        let rung = Arc::new(Rung::default());
        let deps = Deps {
            polls: Arc::clone(&store.polls),
            silence: Arc::clone(&store.silence),
            doorbell: Arc::clone(&rung) as Arc<dyn Doorbell>,
            clock: Arc::new(SystemClock),
            poller: PollerId::new(),
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
            rung,
            store,
            _folder: folder,
        }
    }

    /// What the database knows of the source.
    pub(crate) async fn lease(&self) -> Lease {
        let (source, span) = (source(), self.deps.settings.lease);
        let leased = self.deps.polls.lease(&source, self.deps.poller, span).await;
        match leased.unwrap() {
            Leased::Yours(lease) => lease,
            Leased::Held => panic!("somebody else holds the source"),
        }
    }

    /// One round of a source.
    pub(crate) async fn round(&self, pull: &mut dyn Pull) -> Result<Tally, Stop> {
        let mut held = Held::new(self.lease().await);
        round(&self.deps, pull, &mut held, &mut |_| {}).await
    }

    /// How many deliveries there are.
    pub(crate) async fn rows(&self) -> u64 {
        self.store.deliveries.backlog().await.unwrap().unfinished
    }

    /// How many mails were left for this reason.
    pub(crate) fn skipped(&self, why: &'static str) -> u64 {
        let source = source().to_string();
        let label = Skipped { source, why };
        self.deps.meters.skipped.get_or_create(&label).get()
    }
}

/// The source of every test.
pub(crate) fn source() -> SourceName {
    "scripted".parse().unwrap()
}

/// A listed mail that says nothing of its time.
pub(crate) fn listed(id: &impl ToString) -> Item {
    Item {
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

/// A mail that is there.
pub(crate) fn mail(item: &Item) -> Fetched {
    let message = format!("Subject: {}\r\n\r\n", item.id);
    Fetched::Mail(Found::raw(&["a@inbox.test".to_owned()], message.as_bytes()))
}

type Listing = Box<dyn FnMut(&str) -> Result<Page, PullError> + Send>;
/// Nothing means that no answer comes.
type Fetching = Box<dyn FnMut(&Item) -> Option<Result<Fetched, PullError>> + Send>;

/// A source that answers as it is told to, and keeps in mind what it was asked.
pub(crate) struct Script {
    listing: Listing,
    fetching: Fetching,
    /// After a failure it is to be asked from here.
    pub(crate) anew: Option<&'static str>,
    /// The cursors it was asked with.
    pub(crate) asked: Vec<String>,
    /// The mails it was asked for.
    pub(crate) fetched: Vec<String>,
}

impl Script {
    /// A source that has every mail it lists.
    pub(crate) fn listing(
        listing: impl FnMut(&str) -> Result<Page, PullError> + Send + 'static,
    ) -> Self {
        Self {
            listing: Box::new(listing),
            fetching: Box::new(|item| Some(Ok(mail(item)))),
            anew: None,
            asked: Vec::new(),
            fetched: Vec::new(),
        }
    }

    /// The same source, which gives mails in this way.
    pub(crate) fn fetching(
        self,
        fetching: impl FnMut(&Item) -> Option<Result<Fetched, PullError>> + Send + 'static,
    ) -> Self {
        Self {
            fetching: Box::new(fetching),
            ..self
        }
    }
}

#[async_trait]
impl Pull for Script {
    async fn list(&mut self, cursor: &str, _now: Timestamp) -> Result<Page, PullError> {
        self.asked.push(cursor.to_owned());
        (self.listing)(cursor)
    }

    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError> {
        self.fetched.push(item.id.clone());
        match (self.fetching)(item) {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    fn after_failure(&self, cursor: &str, _error: PullError) -> String {
        self.anew.unwrap_or(cursor).to_owned()
    }
}
