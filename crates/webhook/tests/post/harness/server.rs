//! A server on a port of its own over a database of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use async_trait::async_trait;
use pipeline::{
    Claimed, Clock, DeliveryId, DeliveryLog, Doorbell, Meters, QueueError, StoredDelivery,
    Timestamp,
};
use prometheus_client::registry::Registry;
use providers::{SourceSettings, Sources};
use secrecy::SecretString;
use store::Store;
use tempfile::TempDir;
use webhook::{Committer, Deps, Settings, routes};

use super::{Answer, Connection, signed};

/// The moment at which every test happens, in seconds.
pub(crate) const NOW: i64 = 1_763_164_800;
/// The secret of the sources `main` and `twin`.
pub(crate) const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
/// A second secret of `main`, and the only one of `other`.
pub(crate) const OTHER_SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

/// The key of Mailgun's published vector.
const MAILGUN_KEY: &str = "tbsy84uSV1Kt3ZJZELY2TmShPRs91E3yL4tzf96297vBCkDWgL";

/// A clock that stands still until it is moved.
pub(crate) struct FrozenClock(AtomicI64);

impl FrozenClock {
    pub(crate) fn move_by(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A bell that remembers for whom it was rung.
#[derive(Default)]
pub(crate) struct Remembering(Mutex<Vec<Vec<DeliveryId>>>);

#[async_trait]
impl Doorbell for Remembering {
    async fn ring(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        self.0.lock().expect("rings").push(deliveries.to_vec());
        Ok(())
    }
}

type Log = Arc<dyn DeliveryLog>;
type Between = Box<dyn FnOnce(Log) -> Log>;

/// What a test may want to differ.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    /// Puts something between the server and its database.
    pub(crate) log: Between,
    /// Rings instead of the bell that remembers.
    pub(crate) bell: Option<Arc<dyn Doorbell>>,
    /// How long a client may take to send the headers.
    pub(crate) head_timeout: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            log: Box::new(|log| log),
            bell: None,
            head_timeout: Duration::from_secs(5),
        }
    }
}

/// A running webhook and everything behind it.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) clock: Arc<FrozenClock>,
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    committer: Committer,
    rings: Arc<Remembering>,
    handle: ServerHandle,
    _directory: TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(Setup::default()).await
    }

    pub(crate) async fn start_with(setup: Setup) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let url = format!("sqlite:{}", directory.path().join("test.db").display());
        let store = store::open(&store::Settings::new(url.into()))
            .await
            .expect("a database");
        let rings = Arc::new(Remembering::default());
        let bell = setup
            .bell
            .unwrap_or_else(|| Arc::<Remembering>::clone(&rings));
        let clock = Arc::new(FrozenClock(AtomicI64::new(NOW * 1000)));
        let mut registry = Registry::default();
        let meters = Meters::register(&mut registry);
        let log = (setup.log)(Arc::clone(&store.deliveries));
        let committer = Committer::start(log, bell, meters.clone(), &setup.settings);
        let deps = Deps {
            sources: Arc::new(sources()),
            committer: committer.clone(),
            clock: Arc::<FrozenClock>::clone(&clock),
            meters,
            settings: setup.settings,
        };
        let server = HttpServer::new(move || App::new().configure(routes(deps.clone())))
            .workers(2)
            .client_request_timeout(setup.head_timeout)
            .disable_signals()
            .bind(("127.0.0.1", 0))
            .expect("a free port");
        let port = server.addrs()[0].port();
        let server = server.run();
        let handle = server.handle();
        tokio::spawn(server);
        Self {
            port,
            clock,
            store,
            registry,
            committer,
            rings,
            handle,
            _directory: directory,
        }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.port).await
    }

    /// The answer to one request on a connection of its own.
    pub(crate) async fn exchange(&self, request: &[u8]) -> Answer {
        self.connect().await.exchange(request).await
    }

    /// The answer to one correctly signed post.
    pub(crate) async fn post(&self, id: &str, body: &[u8]) -> Answer {
        self.exchange(&signed("main", id, body)).await
    }

    /// How many deliveries are recorded; nothing here works them off.
    pub(crate) async fn rows(&self) -> u64 {
        let backlog = self.store.deliveries.backlog().await.expect("a backlog");
        backlog.unfinished
    }

    /// What is recorded behind an answer.
    pub(crate) async fn stored(&self, answer: &Answer) -> StoredDelivery {
        let field = answer.field("delivery");
        let id = field.as_str().expect("an id").parse().expect("an id");
        let lease = Duration::from_secs(30);
        match self.store.work.claim(id, lease).await.expect("a claim") {
            Claimed::Yours(_, delivery) => delivery,
            other => panic!("not claimable: {other:?}"),
        }
    }

    /// Every meter as the scraper sees it.
    pub(crate) fn meters(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("meters");
        text
    }

    /// For whom the bell was rung so far, ring by ring.
    pub(crate) fn rings(&self) -> Vec<Vec<DeliveryId>> {
        self.rings.0.lock().expect("rings").clone()
    }

    /// Stops taking posts, finishes those under way, and drains the committers.
    pub(crate) async fn finish(&self) {
        self.handle.stop(true).await;
        self.committer.clone().finish().await;
    }
}

fn sources() -> Sources {
    let of = |secrets: &[&str]| {
        SourceSettings::standard_webhooks(secrets.iter().map(|&text| SecretString::from(text)))
    };
    let plain = |provider: &str| SourceSettings {
        provider: provider.to_owned(),
        ..SourceSettings::default()
    };
    let secret = |text: &str| vec![SecretString::from(text).into()];
    let mailgun = SourceSettings {
        secrets: secret(MAILGUN_KEY),
        ..plain("mailgun")
    };
    let nylas = SourceSettings {
        secrets: secret("test-secret"),
        ..plain("nylas")
    };
    let cloudmailin = SourceSettings {
        url_token: Some("a-long-token".into()),
        ..plain("cloudmailin")
    };
    Sources::build(BTreeMap::from([
        ("mailgun".to_owned(), mailgun),
        ("nylas".to_owned(), nylas),
        ("cloudmailin".to_owned(), cloudmailin),
        ("main".to_owned(), of(&[SECRET, OTHER_SECRET])),
        ("twin".to_owned(), of(&[SECRET])),
        ("other".to_owned(), of(&[OTHER_SECRET])),
    ]))
    .expect("every source")
}
