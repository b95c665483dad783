//! Twenty keys that know each other's ids, and ten thousand requests that use them.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::http::Method;
use actix_web::{App, test};
use feed::{Budgets, Deps, KeySettings, Keys, Policy, Settings, routes};
use pipeline::{Meters, ServerKey};
use prometheus_client::registry::Registry;
use rand::RngExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::harness::{code, open, store_artifact};

const TENANTS: usize = 20;
const REQUESTS: usize = 10_000;

/// What one key owns, and the other keys try to reach.
#[derive(Default, Clone)]
struct Tenant {
    token: String,
    inbox: String,
    artifact: String,
    cursor: String,
    attempt: String,
    value: String,
}

fn keys(all: &[Tenant]) -> Keys {
    let settings = all.iter().enumerate().map(|(n, things)| {
        let setting = KeySettings {
            token: Some(things.token.clone().into()),
            inboxes: vec![things.inbox.clone()],
            ..KeySettings::default()
        };
        (format!("tenant-{n}"), setting)
    });
    Keys::build(settings.collect::<BTreeMap<_, _>>()).unwrap()
}

/// Rate limits would refuse the requests before the scope does.
fn without_limits() -> Settings {
    let plenty = std::num::NonZeroU32::MAX;
    Settings {
        budgets: Budgets {
            reads: plenty,
            consumes: plenty,
            failed_consumes: plenty,
            attempts: plenty,
            unauthenticated: plenty,
        },
        ..Settings::default()
    }
}

/// One way to reach what another key owns, and the status it must return.
fn attack(mine: &Tenant, theirs: &Tenant, which: usize) -> (Method, String, u16) {
    let Tenant {
        inbox,
        artifact,
        attempt,
        cursor,
        ..
    } = theirs;
    let get = |path: String| (Method::GET, path, 404);
    let post = |path: String| (Method::POST, path, 404);
    match which {
        0 => get(format!("/v1/inboxes/{inbox}/artifacts")),
        1 => get(format!(
            "/v1/inboxes/{inbox}/artifacts?after={}",
            mine.cursor
        )),
        2 => get(format!("/v1/inboxes/{inbox}")),
        3 => (Method::DELETE, format!("/v1/inboxes/{inbox}"), 404),
        4 => post(format!("/v1/inboxes/{inbox}/rotate")),
        5 => post(format!("/v1/artifacts/{artifact}/consume")),
        6 => get(format!("/v1/attempts/{attempt}")),
        7 => post(format!("/v1/attempts/{attempt}/consume")),
        8 => post(format!("/v1/attempts/{attempt}/resend")),
        9 => get(format!("/v1/events?inbox={inbox}&after={cursor}")),
        // Their cursor, for my own inbox.
        _ => {
            let own = &mine.inbox;
            let path = format!("/v1/inboxes/{own}/artifacts?after={cursor}");
            (Method::GET, path, 400)
        }
    }
}

#[actix_web::test]
async fn ten_thousand_requests_for_other_keys_data_return_404() {
    let (_dir, store) = open().await;
    let mut all: Vec<Tenant> = (0..TENANTS)
        .map(|n| Tenant {
            token: Keys::mint(),
            inbox: format!("tenant-{n:02}@inbox.test"),
            value: format!("7{n:02}{:03}", n * 37 % 1000),
            ..Tenant::default()
        })
        .collect();
    let app = test::init_service(App::new().configure(routes(Deps {
        log: Arc::clone(&store.agents),
        inboxes: Arc::clone(&store.inboxes),
        attempts: Arc::clone(&store.attempts),
        audit: Arc::clone(&store.audit),
        guards: Arc::clone(&store.guards),
        sends: Arc::clone(&store.sends),
        threads: Arc::clone(&store.threads),
        desk: None,
        deliveries: Arc::clone(&store.deliveries),
        keys: Arc::new(keys(&all)),
        cursor_key: ServerKey::new([7; 32]),
        meters: Meters::register(&mut Registry::default()),
        settings: without_limits(),
        policy: Policy::default(),
        shutdown: CancellationToken::new(),
    })))
    .await;
    let ask = async |token: &str, method: Method, path: &str, key: &str| -> (u16, String) {
        let request = test::TestRequest::default()
            .method(method)
            .uri(path)
            .insert_header(("Authorization", format!("Bearer {token}")))
            .insert_header(("Idempotency-Key", key))
            .to_request();
        let answer = test::call_service(&app, request).await;
        let status = answer.status().as_u16();
        let body = test::read_body(answer).await;
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    for things in &mut all {
        let inbox = things.inbox.parse().unwrap();
        things.artifact = store_artifact(&store, inbox, code(&things.value)).await;
        let list = format!("/v1/inboxes/{}/artifacts", things.inbox);
        let (_, page) = ask(&things.token, Method::GET, &list, "k").await;
        let page: Value = serde_json::from_str(&page).unwrap();
        things.cursor = page["next_cursor"].as_str().unwrap().to_owned();
        let (status, opened) = ask(&things.token, Method::POST, "/v1/attempts", "open").await;
        assert_eq!(status, 201, "{opened}");
        let opened: Value = serde_json::from_str(&opened).unwrap();
        things.attempt = opened["id"].as_str().unwrap().to_owned();
    }

    let mut random = rand::rng();
    for n in 0..REQUESTS {
        let me = random.random_range(0..TENANTS);
        let other = (me + random.random_range(1..TENANTS)) % TENANTS;
        let (mine, theirs) = (&all[me], &all[other]);
        let (method, path, expected) = attack(mine, theirs, random.random_range(0..11));
        let (status, body) = ask(&mine.token, method, &path, &format!("k{n}")).await;
        assert_eq!(status, expected, "{path}: {body}");
        for secret in [
            &theirs.value,
            &theirs.inbox,
            &theirs.artifact,
            &theirs.attempt,
        ] {
            assert!(!body.contains(secret.as_str()), "{path}: {body}");
        }
    }
    // None of these requests has consumed or ended anything.
    for things in &all {
        let path = format!("/v1/artifacts/{}/consume", things.artifact);
        let (status, body) = ask(&things.token, Method::POST, &path, "mine").await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains(&things.value));
    }
}
