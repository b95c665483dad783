//! The description of the API, and the page that shows it.

use reqwest::Method;

use crate::harness::{Server, ask};

#[tokio::test]
async fn every_described_path_is_served_with_its_methods() {
    let server = Server::start().await;
    let document = ask(server.bare(Method::GET, "/openapi.json")).await;
    assert_eq!(document.header("content-type"), Some("application/json"));
    let document = document.json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 10, "{}", paths.len());
    for (path, methods) in paths {
        let path = path
            .replace("{inbox}", "a@inbox.test")
            .replace("{attempt}", "att_1")
            .replace("{artifact}", "art_1");
        // What is not served at all is 404 whatever the method.
        let odd = ask(server.bare(Method::PATCH, &path)).await;
        odd.problem(405, "method-not-allowed");
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            // The route itself asks for a key, so a stranger gets as far as that.
            let answer = ask(server.bare(method, &path)).await;
            answer.problem(401, "unauthenticated");
        }
    }
}

#[tokio::test]
async fn the_page_runs_nothing_and_loads_nothing() {
    let server = Server::start().await;
    let page = ask(server.bare(Method::GET, "/docs")).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
    for loaded in ["<script", "http://", "https://", "src=", "@import", "url("] {
        assert!(!page.text.contains(loaded), "{loaded}");
    }
    for told in [
        "POST /v1/attempts/{attempt}/consume",
        "already-consumed",
        "Idempotency-Key",
    ] {
        assert!(page.text.contains(told), "{told}");
    }
}
