//! Query parameters.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{INBOX, Server, ask};
use crate::keys::order;

/// A key with every scope and every inbox.
async fn full_key(server: &Server) -> String {
    let mut order = order("root");
    order.inboxes = vec!["*".to_owned()];
    let scopes = [
        "attempt", "feed", "consume", "operator", "send", "reply", "guard",
    ];
    order.scopes = scopes.map(str::to_owned).to_vec();
    server.create_key_token(order).await
}

#[tokio::test]
async fn unknown_or_repeated_parameters_return_400_for_every_operation() {
    let server = Server::start().await;
    let token = full_key(&server).await;
    let document = ask(server.bare(Method::GET, "/openapi.json")).await.json();
    let mut asked = 0;
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in paths.iter().filter(|(path, _)| path.starts_with("/v1/")) {
        let path = path
            .replace("{inbox}", INBOX)
            .replace("{attempt}", "att_00000000000000000000000000000000")
            .replace("{artifact}", "art_00000000000000000000000000000000")
            .replace("{message}", "msg_00000000000000000000000000000000")
            .replace("{thread}", "thr_00000000000000000000000000000000")
            .replace("{guard}", "grd_00000000000000000000000000000000")
            .replace("{send}", "snd_00000000000000000000000000000000")
            .replace("{name}", "root");
        for (method, operation) in methods.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let read = parameters.filter(|one| one["in"] == "query");
            let twice = read.map(|one| {
                let name = one["name"].as_str().unwrap();
                format!("{name}=1&{name}=1")
            });
            for query in twice.chain(["foo=1".to_owned(), "foo".to_owned()]) {
                let request = server.bare(method.clone(), &format!("{path}?{query}"));
                let request = request
                    .bearer_auth(&token)
                    .header("Idempotency-Key", format!("k{asked}"));
                ask(request).await.problem(400, "invalid-parameter");
                asked += 1;
            }
        }
    }
    assert!(asked > 32, "{asked}");
    let made = ask(server.bare(Method::GET, "/v1/inboxes").bearer_auth(&token)).await;
    assert_eq!(made.json()["items"], json!([]), "no inbox was created");
}

#[tokio::test]
async fn consume_waits_as_long_as_the_parameter_says() {
    let server = Server::start().await;
    let token = server.token("a");
    let open = server.bare(Method::POST, "/v1/attempts").bearer_auth(token);
    let attempt = ask(open.json(&json!({ "inbox": INBOX }))).await.json();
    let path = format!("/v1/attempts/{}/consume", attempt["id"].as_str().unwrap());
    let consume = |query: &str, body: Value| {
        let request = server.bare(Method::POST, &format!("{path}{query}"));
        let request = request
            .bearer_auth(token)
            .header("Idempotency-Key", "k")
            .json(&body);
        ask(request)
    };
    let began = std::time::Instant::now();
    let answer = consume("?wait=1", json!({})).await;
    assert_eq!(
        (answer.status, &answer.json()["state"]),
        (200, &json!("pending"))
    );
    assert!(began.elapsed() >= Duration::from_secs(1));
    let refused = consume("?wait=56", json!({})).await;
    refused.problem(400, "invalid-parameter");
    let both = consume("?wait=1", json!({ "wait": 1 })).await;
    both.problem(400, "invalid-parameter");
}
