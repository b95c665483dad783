//! Keys of the database: made, believed for a moment, revoked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use feed::{KeyOrder, Settings};
use pipeline::{ConsumerId, Created, KeyLog, KeyView, LiveKey, NewKey, StoreError};
use reqwest::Method;
use secrecy::ExposeSecret;
use testkit::patience;

use crate::harness::{Answer, INBOX, OTHER_INBOX, Server, ask, feed_of};
use crate::wait::waiting;

pub(crate) fn order(name: &str) -> KeyOrder {
    KeyOrder {
        name: name.to_owned(),
        scopes: Vec::new(),
        inboxes: vec![INBOX.to_owned()],
        expires_in: None,
    }
}

impl Server {
    /// Makes a key in the database and returns its token.
    pub(crate) async fn make_key(&self, order: KeyOrder) -> String {
        let (token, key) = order.mint().unwrap();
        assert!(
            self.store
                .keys
                .create_key(key)
                .await
                .unwrap()
                .fresh()
                .is_some()
        );
        token.expose_secret().to_owned()
    }

    pub(crate) async fn read_with(&self, token: &str, path: &str) -> Answer {
        ask(self.bare(Method::GET, path).bearer_auth(token)).await
    }
}

#[tokio::test]
async fn a_minted_key_sees_what_it_was_made_for() {
    let server = Server::start().await;
    server.code_arrives(OTHER_INBOX, "493817").await;
    let token = server.make_key(order("agent-7")).await;
    let own = server.read_with(&token, &feed_of(INBOX, "")).await;
    assert_eq!(own.status, 200, "{own:?}");
    let other = server.read_with(&token, &feed_of(OTHER_INBOX, "")).await;
    other.problem(404, "not-found");
}

#[tokio::test]
async fn a_key_without_the_scope_is_told_which_one_it_lacks() {
    let server = Server::start().await;
    let artifact = server.code_arrives(INBOX, "493817").await;
    let consume = |token: &str| {
        server
            .bare(Method::POST, &format!("/v1/artifacts/{artifact}/consume"))
            .bearer_auth(token)
            .header("Idempotency-Key", "k")
    };
    for (scope, lacks) in [("feed", "consume"), ("consume", "feed")] {
        let mut order = order(scope);
        order.scopes = vec![scope.to_owned()];
        let token = server.make_key(order).await;
        let (listed, consumed) = (
            server.read_with(&token, &feed_of(INBOX, "")).await,
            ask(consume(&token)).await,
        );
        let (refused, granted) = if scope == "feed" {
            (consumed, listed)
        } else {
            (listed, consumed)
        };
        assert_eq!(granted.status, 200, "{granted:?}");
        let body = refused.problem(403, "forbidden");
        assert_eq!(body["scope"], lacks);
        assert!(!refused.text.contains("493817"));
    }
}

#[tokio::test]
async fn a_row_that_speaks_for_a_callback_is_no_key() {
    let server = Server::start().await;
    // No order is good for it, so somebody has written it by hand.
    let (token, key) = order("agent-7").mint().unwrap();
    let key = NewKey {
        name: "callback:ci".parse().unwrap(),
        ..key
    };
    let made = server.store.keys.create_key(key).await.unwrap();
    assert!(made.fresh().is_some());
    let answer = server
        .read_with(token.expose_secret(), &feed_of(INBOX, ""))
        .await;
    answer.problem(401, "unauthenticated");
}

/// The bound that is promised is 5 s, the one that is kept 2 s and a look.
const EFFECTIVE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_revoked_key_is_refused_by_every_process_within_seconds() {
    // Two feeds over one database, each with a memory of its own.
    let server = Server::start().await;
    let other = server.another().await;
    let token = server.make_key(order("agent-7")).await;
    let path = feed_of(INBOX, "");
    for one in [&server, &other] {
        assert_eq!(one.read_with(&token, &path).await.status, 200);
    }
    let name: ConsumerId = "agent-7".parse().unwrap();
    server.store.keys.revoke_key(&name).await.unwrap().unwrap();
    let revoked = Instant::now();
    for one in [&server, &other] {
        patience::until("the key is refused", async || {
            let answer = one.read_with(&token, &path).await;
            (answer.status == 401).then_some(())
        })
        .await;
    }
    assert!(revoked.elapsed() < EFFECTIVE, "{:?}", revoked.elapsed());
}

#[tokio::test]
async fn a_key_that_expires_is_refused_from_then_on() {
    let server = Server::start().await;
    let mut short = order("agent-7");
    short.expires_in = Some(Duration::from_secs(1));
    let token = server.make_key(short).await;
    let path = feed_of(INBOX, "");
    assert_eq!(server.read_with(&token, &path).await.status, 200);
    patience::until("the key is refused", async || {
        let answer = server.read_with(&token, &path).await;
        (answer.status == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_wait_that_outlives_its_key_says_nothing() {
    let server = Arc::new(Server::start().await);
    let token = server.make_key(order("agent-7")).await;
    let wait = {
        let (server, token) = (Arc::clone(&server), token.clone());
        tokio::spawn(async move { server.read_with(&token, &feed_of(INBOX, "?wait=50")).await })
    };
    waiting(&server, 1).await;
    let name: ConsumerId = "agent-7".parse().unwrap();
    server.store.keys.revoke_key(&name).await.unwrap().unwrap();
    let path = feed_of(OTHER_INBOX, "");
    patience::until("the key is refused", async || {
        let answer = server.read_with(&token, &path).await;
        (answer.status == 401).then_some(())
    })
    .await;
    server.code_arrives(INBOX, "493817").await;
    wait.await.unwrap().problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_key_is_believed_for_a_moment_and_no_longer_when_nobody_can_be_asked() {
    let is_away = Arc::new(AtomicBool::new(false));
    let front = Arc::clone(&is_away);
    let server = Server::start_with_keys(Settings::default(), move |store| {
        Arc::new(Counting {
            log: Arc::clone(&store.keys),
            looks: Arc::default(),
            is_away: front,
        })
    })
    .await;
    let token = server.make_key(order("agent-7")).await;
    let path = feed_of(INBOX, "");
    assert_eq!(server.read_with(&token, &path).await.status, 200);
    is_away.store(true, Ordering::SeqCst);
    let away = Instant::now();
    // Never 401, for nobody knows that the key is bad.
    let refused = patience::until("the key is not believed any more", async || {
        let answer = server.read_with(&token, &path).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused.problem(503, "temporarily-unavailable");
    assert!(away.elapsed() < EFFECTIVE, "{:?}", away.elapsed());
}

/// Keys that count how often they are asked for one.
struct Counting {
    log: Arc<dyn KeyLog>,
    looks: Arc<AtomicUsize>,
    is_away: Arc<AtomicBool>,
}

#[async_trait]
impl KeyLog for Counting {
    async fn create_key(&self, key: NewKey) -> Result<Created<KeyView>, StoreError> {
        self.log.create_key(key).await
    }

    async fn live_key(&self, id: &str) -> Result<Option<LiveKey>, StoreError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        if self.is_away.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("away".into()));
        }
        self.log.live_key(id).await
    }

    async fn key_used(&self, id: &str) -> Result<(), StoreError> {
        self.log.key_used(id).await
    }

    async fn keys(&self) -> Result<Vec<KeyView>, StoreError> {
        self.log.keys().await
    }

    async fn revoke_key(&self, name: &ConsumerId) -> Result<Option<KeyView>, StoreError> {
        self.log.revoke_key(name).await
    }
}

#[tokio::test]
async fn a_token_whose_check_does_not_fit_costs_no_look() {
    // A2.
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let server = Server::start_with_keys(Settings::default(), move |store| {
        Arc::new(Counting {
            log: Arc::clone(&store.keys),
            looks: counted,
            is_away: Arc::default(),
        })
    })
    .await;
    let token = server.make_key(order("agent-7")).await;
    let path = feed_of(INBOX, "");
    let mut wrong = token.clone();
    let last = wrong.pop().unwrap();
    wrong.push(if last == 'x' { 'y' } else { 'x' });
    for bad in [
        wrong,
        token.replace("mlk_", "mlk_x"),
        token.chars().take(20).collect(),
    ] {
        server
            .read_with(&bad, &path)
            .await
            .problem(401, "unauthenticated");
    }
    assert_eq!(looks.load(Ordering::SeqCst), 0);
    // A good one is looked up once and then believed.
    for _ in 0..5 {
        assert_eq!(server.read_with(&token, &path).await.status, 200);
    }
    assert_eq!(looks.load(Ordering::SeqCst), 1);
    // Nobody's, and well formed: looked up, and refused.
    let (nobodys, _) = order("nobody").mint().unwrap();
    server
        .read_with(nobodys.expose_secret(), &path)
        .await
        .problem(401, "unauthenticated");
    assert_eq!(looks.load(Ordering::SeqCst), 2);
}
