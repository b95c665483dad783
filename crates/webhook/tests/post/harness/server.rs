//! A server with its own port and database.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use async_trait::async_trait;
use pipeline::{
    Claimed, Clock, DeliveryId, DeliveryLog, Doorbell, Meters, QueueError, StorageQuota,
    StoredDelivery, Timestamp,
};
use prometheus_client::registry::Registry;
use providers::{Contract, SourceSettings, Sources, contracts};
use secrecy::SecretString;
use store::Store;
use tempfile::TempDir;
use testkit::sns::{Sns, TOPIC};
use webhook::{
    CertificateFetch, CertificateUnavailable, Certificates, Committer, Deps, Settings, routes,
};

use super::{Answer, Connection, signed};

/// The time at which the clock of every test is frozen, in Unix seconds.
pub(crate) const NOW: i64 = 1_763_164_800;
/// The secret of the sources `main` and `twin`.
pub(crate) const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
/// A second secret of `main`, and the only one of `other`.
pub(crate) const OTHER_SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

/// The key of Mailgun's published vector.
const MAILGUN_KEY: &str = "tbsy84uSV1Kt3ZJZELY2TmShPRs91E3yL4tzf96297vBCkDWgL";

/// A clock that changes only when a test moves it.
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

/// A doorbell that remembers its notifications.
#[derive(Default)]
pub(crate) struct RecordingDoorbell(Mutex<Vec<Vec<DeliveryId>>>);

#[async_trait]
impl Doorbell for RecordingDoorbell {
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        self.0
            .lock()
            .expect("notifications")
            .push(deliveries.to_vec());
        Ok(())
    }
}

/// The host of the certificates. A test can make it unavailable; it remembers the
/// URLs that were fetched.
#[derive(Default)]
pub(crate) struct CertificateHost {
    pub(crate) is_unavailable: AtomicBool,
    pub(crate) asked: Mutex<Vec<String>>,
}

#[async_trait]
impl CertificateFetch for CertificateHost {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, CertificateUnavailable> {
        self.asked.lock().expect("asked").push(url.to_owned());
        if self.is_unavailable.load(Ordering::SeqCst) {
            return Err(CertificateUnavailable::Away);
        }
        Ok(Sns::at("").certificate().as_bytes().to_vec())
    }
}

type Log = Arc<dyn DeliveryLog>;
type LogWrapper = Box<dyn FnOnce(Log) -> Log>;

/// What a test may change.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    /// Wraps the server's database.
    pub(crate) log: LogWrapper,
    /// Replaces the recording doorbell.
    pub(crate) doorbell: Option<Arc<dyn Doorbell>>,
    /// How long a client may take to send the headers.
    pub(crate) head_timeout: Duration,
    /// How much unfinished mail is accepted.
    pub(crate) quota: Arc<StorageQuota>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            log: Box::new(|log| log),
            doorbell: None,
            head_timeout: Duration::from_secs(5),
            quota: Arc::default(),
        }
    }
}

/// A running webhook and everything behind it.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) clock: Arc<FrozenClock>,
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) sources: Arc<Sources>,
    pub(crate) certificates: Arc<CertificateHost>,
    committer: Committer,
    notifications: Arc<RecordingDoorbell>,
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
        let store = store::open(&store::Settings::new(url.into()).sealed_with(secrets()))
            .await
            .expect("a database");
        let notifications = Arc::new(RecordingDoorbell::default());
        let doorbell = setup
            .doorbell
            .unwrap_or_else(|| Arc::<RecordingDoorbell>::clone(&notifications));
        let clock = Arc::new(FrozenClock(AtomicI64::new(NOW * 1000)));
        let mut registry = Registry::default();
        let meters = Meters::register(&mut registry);
        let log = (setup.log)(Arc::clone(&store.deliveries));
        let committer = Committer::start(log, doorbell, meters.clone(), &setup.settings);
        let sources = Arc::new(sources());
        let certificates = Arc::new(CertificateHost::default());
        let from: Arc<dyn CertificateFetch> = Arc::<CertificateHost>::clone(&certificates);
        let deps = Deps {
            refused: Arc::default(),
            sources: Arc::clone(&sources),
            certificates: Arc::new(Certificates::new(from, Arc::<FrozenClock>::clone(&clock))),
            committer: committer.clone(),
            quota: Arc::clone(&setup.quota),
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
            sources,
            certificates,
            committer,
            notifications,
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

    /// How many deliveries are recorded; no worker processes them here.
    pub(crate) async fn rows(&self) -> u64 {
        let backlog = self.store.deliveries.backlog().await.expect("a backlog");
        backlog.unfinished
    }

    /// The recorded delivery that an answer names.
    pub(crate) async fn stored(&self, answer: &Answer) -> StoredDelivery {
        let field = answer.field("delivery");
        let id = field.as_str().expect("an id").parse().expect("an id");
        let lease = Duration::from_secs(30);
        match self.store.work.claim(id, lease).await.expect("a claim") {
            Claimed::Yours(_, delivery) => delivery,
            other => panic!("not claimable: {other:?}"),
        }
    }

    /// Every metric in the text format.
    pub(crate) fn meters(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("meters");
        text
    }

    /// The notifications so far.
    pub(crate) fn notifications(&self) -> Vec<Vec<DeliveryId>> {
        self.notifications.0.lock().expect("notifications").clone()
    }

    /// Stops accepting posts, finishes those in progress, and drains the committers.
    pub(crate) async fn finish(&self) {
        self.handle.stop(true).await;
        self.committer.clone().finish().await;
    }
}

fn sources() -> Sources {
    let of = |secrets: &[&str]| {
        SourceSettings::standard_webhooks(secrets.iter().map(|&text| SecretString::from(text)))
    };
    let fixed = [
        ("main", of(&[SECRET, OTHER_SECRET])),
        ("twin", of(&[SECRET])),
        ("other", of(&[OTHER_SECRET])),
        (
            "listed",
            SourceSettings {
                addresses: vec!["192.0.2.0/24".to_owned()],
                ..of(&[SECRET])
            },
        ),
    ];
    // One source for every provider, under the provider's name.
    let providers = contracts().map(|contract| (contract.name, source_of(contract)));
    let named = fixed.into_iter().chain(providers);
    Sources::build(
        named
            .map(|(name, settings)| (name.to_owned(), settings))
            .collect(),
    )
    .expect("every source")
}

/// The provider's example, with a token in the URL instead of a username and password,
/// and the keys of the vectors that these tests use.
fn source_of(contract: &Contract) -> SourceSettings {
    let mut settings = contract.example();
    if settings.username.take().is_some() {
        settings.password = None;
        settings.url_token = Some("a-long-token".into());
    }
    match contract.name {
        // Without a token, so that only Mailgun's own proof decides.
        "mailgun" => {
            settings.url_token = None;
            settings.secrets = vec![SecretString::from(MAILGUN_KEY).into()];
        }
        "ses-sns" => {
            settings.url_token = None;
            settings.topics = vec![TOPIC.to_owned()];
        }
        "postal" => settings.public_key = Some(testkit::postal::public_key()),
        _ => {}
    }
    settings
}

fn secrets() -> store::Secrets {
    store::Secrets {
        keyring: store::SealKey::new([7; 32]).into(),
        server_key: pipeline::ServerKey::new([7; 32]),
    }
}
