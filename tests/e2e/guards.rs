//! Guards with real processes that are killed: of all who want to act on one intent, one
//! may, and what is unknown is reported as uncertain.

use std::sync::LazyLock;

use futures_util::future::join_all;
use maillatch::deployment::Process;
use serde_json::{Value, json};
use testkit::wait;
use url::Url;

use crate::harness::{Harness, Role, on_both_profiles};

on_both_profiles!(
    fifty_equal_requests_with_two_api_keys_get_one_claim,
    claim_survives_the_death_of_its_server,
    twins_during_kills_act_at_most_once,
    unreported_guard_is_settled_by_the_operator,
);

/// Two keys that may claim guards.
async fn keys(harness: &Harness) -> [String; 2] {
    let mut tokens = Vec::new();
    for name in ["guard-1", "guard-2"] {
        let order = ["api-key", "create", name, "--scope", "guard", "--json"];
        let made = command(harness, &order).await;
        tokens.push(made["token"].as_str().unwrap().to_owned());
    }
    tokens.try_into().unwrap()
}

async fn command(harness: &Harness, args: &[&str]) -> Value {
    let mut command = harness.command(args);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn feeds(harness: &Harness) -> Vec<Url> {
    let feeds = harness.deployment.playing(Role::Feed);
    feeds.filter_map(Process::url).cloned().collect()
}

fn intent(entity: &str, lease: u64) -> Value {
    json!({
        "sender": "shop",
        "kind": "ticket",
        "intent": { "type": "ticket.open", "entity": entity },
        "lease": lease,
    })
}

/// One for all requests, each with a connection of its own: to make a client takes so long
/// that a server would give up requests that others have begun.
static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    let client = reqwest::Client::builder().pool_max_idle_per_host(0);
    client.build().unwrap()
});

/// Posts to a feed. `None` when the server died before it answered.
async fn post(feed: &Url, token: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let url = feed.join(path).unwrap();
    let request = CLIENT.post(url).bearer_auth(token);
    let answer = request.json(body).send().await.ok()?;
    let status = answer.status().as_u16();
    Some((status, answer.json().await.ok()?))
}

/// Claims on some server, again and again until one answers other than 503.
async fn claim(harness: &Harness, token: &str, body: &Value) -> (u16, Value) {
    wait::until("an answer", async || {
        for feed in feeds(harness) {
            match post(&feed, token, "v1/guards", body).await {
                None | Some((503, _)) => {}
                answer => return answer,
            }
        }
        None
    })
    .await
}

async fn fifty_equal_requests_with_two_api_keys_get_one_claim(harness: Harness) {
    let keys = keys(&harness).await;
    let feeds = feeds(&harness);
    for round in 0..3 {
        let body = intent(&format!("order_{round}"), 600);
        let requests = (0..50).map(|n| {
            let (feed, key) = (&feeds[n % feeds.len()], &keys[n % 2]);
            post(feed, key, "v1/guards", &body)
        });
        let answers = join_all(requests).await;
        let statuses: Vec<u16> = answers.into_iter().map(|it| it.unwrap().0).collect();
        let claimed = statuses.iter().filter(|status| **status == 201).count();
        let refused = statuses.iter().filter(|status| **status == 409).count();
        assert_eq!((claimed, refused), (1, 49), "{statuses:?}");
    }
    harness.end().await;
}

async fn claim_survives_the_death_of_its_server(mut harness: Harness) {
    let keys = keys(&harness).await;
    let body = intent("order_1", 600);
    let (status, claimed) = claim(&harness, &keys[0], &body).await;
    assert_eq!(status, 201, "{claimed}");
    harness.deployment.kill(Role::Feed).await.unwrap();
    harness.deployment.revive().await.unwrap();
    let (status, refused) = claim(&harness, &keys[1], &body).await;
    assert_eq!((status, &refused["state"]), (409, &json!("claimed")));
    let path = format!("v1/guards/{}/confirm", claimed["id"].as_str().unwrap());
    let report = json!({ "token": claimed["token"], "result": "ticket-1" });
    let feed = feeds(&harness).remove(0);
    let (status, done) = post(&feed, &keys[0], &path, &report).await.unwrap();
    assert_eq!((status, &done["state"]), (200, &json!("done")), "{done}");
    harness.deployment.kill(Role::Feed).await.unwrap();
    harness.deployment.revive().await.unwrap();
    let (status, done) = claim(&harness, &keys[1], &body).await;
    assert_eq!((status, &done["result"]), (200, &json!("ticket-1")));
    harness.end().await;
}

/// Twins claim while the servers are killed. Those whose answer was lost do not act, so
/// at most one acts on each intent, and each intent has a state that says what is known.
async fn twins_during_kills_act_at_most_once(mut harness: Harness) {
    let keys = keys(&harness).await;
    let bodies: Vec<Value> = (0..20).map(|n| intent(&format!("order_{n}"), 1)).collect();
    let mut acted = vec![0; bodies.len()];
    for _ in 0..3 {
        let feeds = feeds(&harness);
        let (answered, mut answers) = tokio::sync::watch::channel(0);
        let twins = bodies.iter().enumerate().flat_map(|(index, body)| {
            let (feeds, keys, answered) = (&feeds, &keys, &answered);
            (0..4).map(move |n| async move {
                let feed = &feeds[n % feeds.len()];
                let answer = post(feed, &keys[n % 2], "v1/guards", body).await;
                answered.send_modify(|answered| *answered += 1);
                (index, answer)
            })
        });
        let killing = async {
            // In the middle: some are answered, and most are not.
            answers.wait_for(|answered| *answered > 5).await.unwrap();
            harness.deployment.kill(Role::Feed).await.unwrap();
        };
        let (answers, ()) = futures_util::future::join(join_all(twins), killing).await;
        for (index, answer) in answers {
            if let Some((201, _)) = answer {
                acted[index] += 1;
            }
        }
        harness.deployment.revive().await.unwrap();
    }
    assert!(acted.iter().all(|count| *count <= 1), "{acted:?}");
    for (body, acted) in bodies.iter().zip(acted) {
        // No caller reports, so each intent ends as uncertain; one that no server recorded is
        // claimed now, and not by two.
        let (status, answer) = wait::until("the end of the lease", async || {
            let answer = claim(&harness, &keys[0], body).await;
            let is_claimed = answer.1["state"] == "claimed" && answer.0 == 409;
            (!is_claimed).then_some(answer)
        })
        .await;
        match status {
            201 => assert_eq!(acted, 0, "{answer}"),
            409 => assert_eq!(answer["state"], "uncertain", "{answer}"),
            other => panic!("{other}: {answer}"),
        }
    }
    let rows = harness.count("SELECT count(*) FROM sends").await;
    assert_eq!(rows, 20);
    harness.end().await;
}

async fn unreported_guard_is_settled_by_the_operator(harness: Harness) {
    let keys = keys(&harness).await;
    let body = intent("order_1", 1);
    let (_, claimed) = claim(&harness, &keys[0], &body).await;
    let id = claimed["id"].as_str().unwrap();
    let listed = wait::until("an uncertain guard", async || {
        let listed = command(&harness, &["sends", "list", "--json"]).await;
        listed["items"].get(0).cloned()
    })
    .await;
    assert_eq!(listed["id"], id);
    assert_eq!(listed["intent"]["entity"], "order_1");
    let (status, refused) = claim(&harness, &keys[1], &body).await;
    assert_eq!((status, &refused["state"]), (409, &json!("uncertain")));
    let settled = command(&harness, &["sends", "settle", id, "retry", "--json"]).await;
    assert_eq!(settled["state"], "ready");
    let (status, again) = claim(&harness, &keys[1], &body).await;
    assert_eq!(status, 201, "{again}");
    assert_ne!(again["token"], claimed["token"]);
    let shown = command(&harness, &["sends", "show", id, "--json"]).await;
    let what: Vec<&str> = shown["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(what)
        .collect();
    assert_eq!(what, ["claimed", "uncertain", "settled_retry", "claimed"]);
    harness.end().await;
}

fn what(event: &Value) -> &str {
    event["what"].as_str().unwrap()
}
