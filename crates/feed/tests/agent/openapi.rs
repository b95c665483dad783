//! `/openapi.json` and `/docs`.

use reqwest::Method;

use crate::harness::{Server, ask};

#[tokio::test]
async fn every_path_of_the_openapi_document_is_served() {
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
        // A path that is not served would return 404 for every method.
        let refused = ask(server.bare(Method::PATCH, &path)).await;
        refused.problem(405, "method-not-allowed");
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            // The handler itself requires a key, so 401 shows that it was reached.
            let answer = ask(server.bare(method, &path)).await;
            answer.problem(401, "unauthenticated");
        }
    }
}

#[tokio::test]
async fn docs_page_has_no_script_and_loads_nothing() {
    let server = Server::start().await;
    let page = ask(server.bare(Method::GET, "/docs")).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
    for loaded in ["<script", "http://", "https://", "src=", "@import", "url("] {
        assert!(!page.text.contains(loaded), "{loaded}");
    }
    for text in [
        "POST /v1/attempts/{attempt}/consume",
        "already-consumed",
        "Idempotency-Key",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
}
