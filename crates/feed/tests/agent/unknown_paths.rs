//! Unknown paths and methods.

use reqwest::Method;

use crate::harness::{INBOX, Server, ask, feed_of};

#[tokio::test]
async fn unknown_paths_return_404_problem() {
    let server = Server::start().await;
    for path in [
        "/index.html",
        "/v2/attempts",
        "/v1",
        "/v1/nothing",
        "/docs/x",
    ] {
        for method in [Method::GET, Method::POST] {
            let answer = ask(server.bare(method, path)).await;
            answer.problem(404, "not-found");
        }
    }
}

#[tokio::test]
async fn head_works_for_pages_and_returns_405_elsewhere() {
    let server = Server::start().await;
    for path in ["/", "/openapi.json", "/docs"] {
        let head = ask(server.bare(Method::HEAD, path)).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        let refused = ask(server.bare(Method::DELETE, path)).await;
        refused.problem(405, "method-not-allowed");
        assert_eq!(refused.header("allow"), Some("GET, HEAD"));
    }
    for (path, allowed) in [
        ("/v1/inboxes", "GET, POST"),
        (&feed_of(INBOX, ""), "GET"),
        ("/v1/keys/a", "DELETE"),
    ] {
        let head = ask(server.bare(Method::HEAD, path)).await;
        assert_eq!((head.status, head.text.as_str()), (405, ""));
        assert_eq!(head.header("allow"), Some(allowed));
    }
}
