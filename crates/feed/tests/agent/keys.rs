//! Keys of the database: created, cached, revoked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use feed::{KeyOrder, Settings};
use pipeline::{ConsumerId, Created, KeyLog, KeyView, LiveKey, NewKey, StoreError};
use reqwest::Method;
use secrecy::ExposeSecret;
use testkit::wait;

use crate::harness::{Answer, INBOX, OTHER_INBOX, Server, ask, feed_of};
use crate::wait::wait_until_open;

pub(crate) fn order(name: &str) -> KeyOrder {
    KeyOrder {
        name: name.to_owned(),
        scopes: Vec::new(),
        inboxes: vec![INBOX.to_owned()],
        expires_in: None,
    }
}

impl Server {
    /// Creates a key in the database and returns its token.
    pub(crate) async fn create_key_token(&self, order: KeyOrder) -> String {
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
async fn database_key_sees_only_its_inboxes() {
    let server = Server::start().await;
    server.store_code(OTHER_INBOX, "493817").await;
    let token = server.create_key_token(order("agent-7")).await;
    let own = server.read_with(&token, &feed_of(INBOX, "")).await;
    assert_eq!(own.status, 200, "{own:?}");
    let other = server.read_with(&token, &feed_of(OTHER_INBOX, "")).await;
    other.problem(404, "not-found");
}

#[tokio::test]
async fn key_without_the_scope_returns_403_with_the_missing_scope() {
    let server = Server::start().await;
    let artifact = server.store_code(INBOX, "493817").await;
    let consume = |token: &str| {
        server
            .bare(Method::POST, &format!("/v1/artifacts/{artifact}/consume"))
            .bearer_auth(token)
            .header("Idempotency-Key", "k")
    };
    for (scope, lacks) in [("feed", "consume"), ("consume", "feed")] {
        let mut order = order(scope);
        order.scopes = vec![scope.to_owned()];
        let token = server.create_key_token(order).await;
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
async fn key_row_named_like_a_callback_returns_401() {
    let server = Server::start().await;
    // No order accepts such a name, so the row must have been written by hand.
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

/// The documented bound is 5 s, and the cache holds a key for 2 s. The rest is for a
/// busy machine.
const EFFECTIVE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn revoked_key_returns_401_in_every_process_within_seconds() {
    // Two feeds over one database, each with its own cache.
    let server = Server::start().await;
    let other = server.another().await;
    let token = server.create_key_token(order("agent-7")).await;
    let path = feed_of(INBOX, "");
    for one in [&server, &other] {
        assert_eq!(one.read_with(&token, &path).await.status, 200);
    }
    let name: ConsumerId = "agent-7".parse().unwrap();
    server.store.keys.revoke_key(&name).await.unwrap().unwrap();
    let revoked = Instant::now();
    for one in [&server, &other] {
        wait::until("the key is refused", async || {
            let answer = one.read_with(&token, &path).await;
            (answer.status == 401).then_some(())
        })
        .await;
    }
    assert!(revoked.elapsed() < EFFECTIVE, "{:?}", revoked.elapsed());
}

#[tokio::test]
async fn expired_key_returns_401() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "");
    let mut long = order("agent-8");
    long.expires_in = Some(Duration::from_hours(1));
    let token = server.create_key_token(long).await;
    assert_eq!(server.read_with(&token, &path).await.status, 200);
    let mut short = order("agent-7");
    short.expires_in = Some(Duration::from_secs(1));
    let token = server.create_key_token(short).await;
    wait::until("the key is refused", async || {
        let answer = server.read_with(&token, &path).await;
        (answer.status == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn wait_returns_401_if_its_key_is_revoked_meanwhile() {
    let server = Arc::new(Server::start().await);
    let token = server.create_key_token(order("agent-7")).await;
    let wait = {
        let (server, token) = (Arc::clone(&server), token.clone());
        tokio::spawn(async move { server.read_with(&token, &feed_of(INBOX, "?wait=50")).await })
    };
    wait_until_open(&server, 1).await;
    let name: ConsumerId = "agent-7".parse().unwrap();
    server.store.keys.revoke_key(&name).await.unwrap().unwrap();
    let path = feed_of(OTHER_INBOX, "");
    wait::until("the key is refused", async || {
        let answer = server.read_with(&token, &path).await;
        (answer.status == 401).then_some(())
    })
    .await;
    server.store_code(INBOX, "493817").await;
    wait.await.unwrap().problem(401, "unauthenticated");
}

#[tokio::test]
async fn cached_key_is_refused_with_503_after_its_time_without_the_store() {
    let is_unavailable = Arc::new(AtomicBool::new(false));
    let front = Arc::clone(&is_unavailable);
    let server = Server::start_over_keys(Settings::default(), move |store| {
        Arc::new(Counting {
            log: Arc::clone(&store.keys),
            look_ups: Arc::default(),
            is_unavailable: front,
        })
    })
    .await;
    let token = server.create_key_token(order("agent-7")).await;
    let path = feed_of(INBOX, "");
    assert_eq!(server.read_with(&token, &path).await.status, 200);
    is_unavailable.store(true, Ordering::SeqCst);
    let since = Instant::now();
    // Never 401, because the key may still be valid.
    let refused = wait::until("the key is not cached any more", async || {
        let answer = server.read_with(&token, &path).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused.problem(503, "temporarily-unavailable");
    assert!(since.elapsed() < EFFECTIVE, "{:?}", since.elapsed());
}

/// A real key log that counts its look-ups.
struct Counting {
    log: Arc<dyn KeyLog>,
    look_ups: Arc<AtomicUsize>,
    is_unavailable: Arc<AtomicBool>,
}

#[async_trait]
impl KeyLog for Counting {
    async fn create_key(&self, key: NewKey) -> Result<Created<KeyView>, StoreError> {
        self.log.create_key(key).await
    }

    async fn live_key(&self, id: &str) -> Result<Option<LiveKey>, StoreError> {
        self.look_ups.fetch_add(1, Ordering::SeqCst);
        if self.is_unavailable.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("a planned failure".into()));
        }
        self.log.live_key(id).await
    }

    async fn key_used(&self, id: &str) -> Result<(), StoreError> {
        self.log.key_used(id).await
    }

    async fn keys(&self) -> Result<Vec<KeyView>, StoreError> {
        self.look_ups.fetch_add(1, Ordering::SeqCst);
        self.log.keys().await
    }

    async fn revoke_key(&self, name: &ConsumerId) -> Result<Option<KeyView>, StoreError> {
        self.log.revoke_key(name).await
    }
}

#[tokio::test]
async fn token_with_a_wrong_checksum_is_not_looked_up() {
    // A2.
    let look_ups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&look_ups);
    let server = Server::start_over_keys(Settings::default(), move |store| {
        Arc::new(Counting {
            log: Arc::clone(&store.keys),
            look_ups: counted,
            is_unavailable: Arc::default(),
        })
    })
    .await;
    let token = server.create_key_token(order("agent-7")).await;
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
    assert_eq!(look_ups.load(Ordering::SeqCst), 0);
    // A valid one is looked up once and then cached.
    for _ in 0..5 {
        assert_eq!(server.read_with(&token, &path).await.status, 200);
    }
    assert_eq!(look_ups.load(Ordering::SeqCst), 1);
    // A well-formed unknown one is looked up and refused.
    let (unknown, _) = order("nobody").mint().unwrap();
    server
        .read_with(unknown.expose_secret(), &path)
        .await
        .problem(401, "unauthenticated");
    assert_eq!(look_ups.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn unknown_tokens_over_the_limit_are_not_looked_up_and_valid_ones_are() {
    let look_ups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&look_ups);
    let mut settings = Settings::default();
    settings.budgets.unauthenticated = std::num::NonZeroU32::new(5).unwrap();
    let server = Server::start_over_keys(settings, move |store| {
        Arc::new(Counting {
            log: Arc::clone(&store.keys),
            look_ups: counted,
            is_unavailable: Arc::default(),
        })
    })
    .await;
    let path = feed_of(INBOX, "");
    let began = Instant::now();
    let mut refused = 0;
    for n in 0..200 {
        let (unknown, _) = order(&format!("nobody-{n}")).mint().unwrap();
        let answer = server.read_with(unknown.expose_secret(), &path).await;
        refused += usize::from(answer.status == 429);
    }
    assert!(refused > 150, "{refused}");
    // Those within the limit, and one query a second for all others.
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap();
    let most = 200 - refused + seconds + 1;
    let look_ups = look_ups.load(Ordering::SeqCst);
    assert!(look_ups <= most, "{look_ups} look-ups, at most {most}");
    // A key that was created meanwhile works from the same address.
    let token = server.create_key_token(order("agent-7")).await;
    let answer = wait::until("the new key works", || async {
        let answer = server.read_with(&token, &path).await;
        (answer.status == 200).then_some(answer)
    });
    assert_eq!(answer.await.status, 200);
}
