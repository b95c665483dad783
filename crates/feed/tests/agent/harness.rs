//! A feed server for one test, artifacts for it, and an HTTP client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use feed::{Deps, KeySettings, Keys, Policy, Settings, routes};
use pipeline::{
    AgentLog, ArtifactId, ArtifactKey, ArtifactKind, DeliveryId, InboxId, KeyLog, MessageId,
    MessageKey, Meters, NewArtifact, NewMessage, Reason, Sender, SenderProof, ServerKey, Timestamp,
    Verdict,
};
use prometheus_client::registry::Registry;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use store::Store;
use testkit::database::{drop_unused_database, migrated_database};
use testkit::store_contract::{LONG, Seams, held};
use tokio_util::sync::CancellationToken;

use crate::desk::Desk;
use crate::openapi_check;

pub(crate) const INBOX: &str = "agent@inbox.test";
pub(crate) const OTHER_INBOX: &str = "other@inbox.test";

/// A running feed and the database behind it.
pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) meters: Meters,
    pub(crate) shutdown: CancellationToken,
    pub(crate) dir: tempfile::TempDir,
    url: String,
    tokens: BTreeMap<&'static str, String>,
    http: ServerHandle,
    client: reqwest::Client,
    /// The URL of its own Postgres database, if it has one.
    database: Option<String>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    /// Starts a feed with three keys: `a` and `b` see everything, `narrow` sees
    /// one inbox.
    pub(crate) async fn start_with(settings: Settings) -> Self {
        Self::start_over_artifacts(settings, |store| Arc::clone(&store.agents)).await
    }

    /// Starts a feed over a wrapped store of artifacts.
    pub(crate) async fn start_over_artifacts(
        settings: Settings,
        front: impl FnOnce(&Store) -> Arc<dyn AgentLog>,
    ) -> Self {
        let (dir, store) = open().await;
        let keys = Arc::clone(&store.keys);
        let log = front(&store);
        Self::serve(settings, store, dir, log, keys)
    }

    /// Starts a feed over a wrapped store of keys.
    pub(crate) async fn start_over_keys(
        settings: Settings,
        front: impl FnOnce(&Store) -> Arc<dyn KeyLog>,
    ) -> Self {
        let (dir, store) = open().await;
        let keys = front(&store);
        let log = Arc::clone(&store.agents);
        Self::serve(settings, store, dir, log, keys)
    }

    /// Starts a feed over its own database on the Postgres server.
    pub(crate) async fn start_on_postgres() -> Self {
        Self::start_on_postgres_with(Settings::default()).await
    }

    pub(crate) async fn start_on_postgres_with(limits: Settings) -> Self {
        let url = migrated_database(async |url: String| {
            let settings = store::Settings::new(url.into());
            store::migrate(&settings).await.unwrap();
        });
        let url = url.await;
        let settings = store::Settings::new(url.clone().into()).sealed_with(secrets());
        let store = store::open(&settings).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        Self {
            database: Some(url),
            ..Self::start_over_with(limits, dir, store)
        }
    }

    /// Starts a feed over an open database.
    pub(crate) fn start_over(dir: tempfile::TempDir, store: Store) -> Self {
        Self::start_over_with(Settings::default(), dir, store)
    }

    fn start_over_with(settings: Settings, dir: tempfile::TempDir, store: Store) -> Self {
        let (log, keys) = (Arc::clone(&store.agents), Arc::clone(&store.keys));
        Self::serve(settings, store, dir, log, keys)
    }

    /// Stops the feed and drops its database.
    pub(crate) async fn end(self) {
        self.stop().await;
        self.store.close().await;
        if let Some(url) = self.database {
            drop_unused_database(&url).await;
        }
    }

    /// Another feed over the same database, as another process would be.
    pub(crate) async fn another(&self) -> Self {
        let file = self.dir.path().join("feed.db");
        let url = format!("sqlite:{}", file.display());
        let settings = store::Settings::new(url.into())
            .sealed_with(secrets())
            .as_guest();
        let store = store::open(&settings).await.unwrap();
        Self::start_over(tempfile::tempdir().unwrap(), store)
    }

    fn serve(
        settings: Settings,
        store: Store,
        dir: tempfile::TempDir,
        log: Arc<dyn AgentLog>,
        database_keys: Arc<dyn KeyLog>,
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let meters = Meters::register(&mut Registry::default());
        let shutdown = CancellationToken::new();
        let tokens = BTreeMap::from(["a", "b", "narrow"].map(|name| (name, Keys::mint())));
        let routes = routes(Deps {
            log,
            inboxes: Arc::clone(&store.inboxes),
            attempts: Arc::clone(&store.attempts),
            audit: Arc::clone(&store.audit),
            guards: Arc::clone(&store.guards),
            sends: Arc::clone(&store.sends),
            threads: Arc::clone(&store.threads),
            desk: Some(Desk::over(&store)),
            deliveries: Arc::clone(&store.deliveries),
            keys: Arc::new(keys(&tokens).with(database_keys)),
            cursor_key: ServerKey::new([7; 32]),
            meters: meters.clone(),
            settings,
            policy: Policy {
                unhealthy_after: Duration::from_millis(100),
                ..Policy::default()
            },
            shutdown: shutdown.clone(),
        });
        let server = HttpServer::new(move || App::new().configure(routes.clone()))
            .workers(2)
            .disable_signals()
            .bind("127.0.0.1:0")
            .unwrap();
        let address = server.addrs()[0];
        let server = server.run();
        let http = server.handle();
        tokio::spawn(server);
        Self {
            store,
            meters,
            shutdown,
            dir,
            url: format!("http://{address}"),
            tokens,
            http,
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            database: None,
        }
    }

    pub(crate) fn token(&self, name: &str) -> &str {
        &self.tokens[name]
    }

    /// A request without a key.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// `GET path` with the key `a`.
    pub(crate) async fn read(&self, path: &str) -> Answer {
        self.read_as("a", path).await
    }

    pub(crate) async fn read_as(&self, key: &str, path: &str) -> Answer {
        ask(self.bare(Method::GET, path).bearer_auth(self.token(key))).await
    }

    /// A consume that is not sent yet.
    pub(crate) fn consuming(&self, key: &str, artifact: &str, idempotency: &str) -> RequestBuilder {
        self.bare(Method::POST, &format!("/v1/artifacts/{artifact}/consume"))
            .bearer_auth(self.token(key))
            .header("Idempotency-Key", idempotency)
    }

    pub(crate) async fn consume(&self, key: &str, artifact: &str, idempotency: &str) -> Answer {
        ask(self.consuming(key, artifact, idempotency)).await
    }

    /// Stores a code as a worker does, and returns its id.
    pub(crate) async fn store_code(&self, inbox: &str, value: &str) -> String {
        self.store_item(inbox, code(value)).await
    }

    pub(crate) async fn store_item(&self, inbox: &str, artifact: NewArtifact) -> String {
        store_artifact(&self.store, inbox.parse().unwrap(), artifact).await
    }

    /// Stores an artifact of a mail that its provider had received earlier.
    pub(crate) async fn store_late(&self, inbox: &str, received_at: Timestamp) -> String {
        let artifact = code("999999");
        let id = artifact.id.to_string();
        let message = NewMessage {
            received_at: Some(received_at),
            ..message(inbox.parse().unwrap(), artifact)
        };
        seams(&self.store).process(&id, vec![message]).await;
        id
    }

    /// Stores an artifact of a mail with this proof of its sender, and returns its id.
    pub(crate) async fn store_proven(
        &self,
        inbox: &str,
        artifact: NewArtifact,
        proof: SenderProof,
    ) -> String {
        let id = artifact.id.to_string();
        let mut message = message(inbox.parse().unwrap(), artifact);
        message.sender.proof = proof;
        seams(&self.store).process(&id, vec![message]).await;
        id
    }

    /// Records a delivery that no worker claims.
    pub(crate) async fn leave_unprocessed(&self, id: &str) -> DeliveryId {
        seams(&self.store).new_delivery(id).await
    }

    /// Processes a delivery as a worker does.
    pub(crate) async fn process(&self, delivery: DeliveryId) {
        let seams = seams(&self.store);
        let (claim, _) = seams.claim(delivery, LONG).await;
        seams.complete(claim, held(Vec::new())).await;
    }

    /// Claims a delivery and schedules its retry for much later.
    pub(crate) async fn retry_later(&self, delivery: DeliveryId) {
        let (claim, _) = seams(&self.store).claim(delivery, LONG).await;
        let why = Reason::new("test");
        self.store.work.retry_later(claim, LONG, why).await.unwrap();
    }

    /// Stops the HTTP server and waits until it has stopped.
    pub(crate) async fn stop(&self) {
        self.shutdown.cancel();
        self.http.stop(true).await;
    }
}

pub(crate) async fn open() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("feed.db").display());
    let store = store::open(&store::Settings::new(url.into()).sealed_with(secrets())).await;
    (dir, store.unwrap())
}

/// Stores an artifact, and returns its id.
pub(crate) async fn store_artifact(store: &Store, inbox: InboxId, artifact: NewArtifact) -> String {
    let id = artifact.id.to_string();
    let finished = seams(store)
        .process(&id, vec![message(inbox, artifact)])
        .await;
    assert_eq!(finished.artifacts, 1);
    id
}

fn seams(store: &Store) -> Seams {
    Seams {
        audit: Arc::clone(&store.audit),
        deliveries: Arc::clone(&store.deliveries),
        work: Arc::clone(&store.work),
        agents: Arc::clone(&store.agents),
        inboxes: Arc::clone(&store.inboxes),
        attempts: Arc::clone(&store.attempts),
        failures: Arc::clone(&store.failures),
        probe: Arc::clone(&store.probe),
    }
}

fn keys(tokens: &BTreeMap<&'static str, String>) -> Keys {
    let settings = tokens.iter().map(|(&name, token)| {
        let inboxes = if name == "narrow" { INBOX } else { "*" };
        let setting = KeySettings {
            token: Some(token.clone().into()),
            hash: None,
            inboxes: vec![inboxes.to_owned()],
            scopes: Vec::new(),
        };
        (name.to_owned(), setting)
    });
    Keys::build(settings.collect()).unwrap()
}

/// A usable code that expires in ten minutes.
pub(crate) fn code(value: &str) -> NewArtifact {
    let id = ArtifactId::new();
    NewArtifact {
        key: ArtifactKey::for_message(
            &ServerKey::new([7; 32]),
            id.as_uuid().as_bytes(),
            ArtifactKind::Code,
        ),
        id,
        kind: ArtifactKind::Code,
        verdict: Verdict::Usable,
        value: Some(value.into()),
        rule: Reason::new("labelled_digits"),
        confidence: 97,
        host: None,
        lifetime: Duration::from_mins(10),
        matches: Vec::new(),
        needs_attempt: false,
    }
}

fn message(inbox: InboxId, artifact: NewArtifact) -> NewMessage {
    let id = MessageId::new();
    NewMessage {
        id,
        key: MessageKey::new(
            &ServerKey::new([7; 32]),
            &inbox,
            Some(&id.to_string()),
            &[0; 32],
        ),
        provider_key: None,
        inbox,
        sender: Sender {
            address: Some("no-reply@example.com".to_owned()),
            domain: Some("example.com".to_owned()),
            proof: SenderProof::Dkim,
        },
        flags: vec!["hidden_text".to_owned()],
        received_at: None,
        artifacts: vec![artifact],
        misses: Vec::new(),
        handling: pipeline::Handling::default(),
    }
}

/// A response, after the checks that every response must pass (A31).
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Checks that this is a complete problem document and returns it.
    pub(crate) fn problem(&self, status: u16, slug: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let body = self.json();
        assert_eq!(
            body["type"],
            format!("urn:maillatch:problem:{slug}"),
            "{body}"
        );
        assert_eq!(body["status"], status);
        assert!(body["title"].is_string() && body["detail"].is_string());
        assert!(body["retryable"].is_boolean());
        body
    }

    /// The ids on a page.
    pub(crate) fn ids(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{self:?}");
        let page = self.json();
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn cursor(&self) -> String {
        self.json()["next_cursor"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn ask(request: RequestBuilder) -> Answer {
    let (client, request) = request.build_split();
    let request = request.unwrap();
    let (method, url) = (request.method().clone(), request.url().clone());
    let response: Response = client.execute(request).await.unwrap();
    let answer = Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        text: response.text().await.unwrap(),
    };
    assert_eq!(
        answer.header("cache-control"),
        Some("no-store"),
        "{answer:?}"
    );
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("server"), None);
    assert!(answer.text.is_ascii(), "{answer:?}");
    if answer.status >= 400 {
        openapi_check::check(&client, &method, &url, &answer).await;
    }
    answer
}

/// The path of an inbox's feed.
pub(crate) fn feed_of(inbox: &str, query: &str) -> String {
    format!("/v1/inboxes/{inbox}/artifacts{query}")
}

fn secrets() -> store::Secrets {
    store::Secrets {
        keyring: store::SealKey::new([7; 32]).into(),
        server_key: ServerKey::new([7; 32]),
    }
}
