//! Paths and methods that are not there.

use reqwest::Method;

use crate::harness::{INBOX, Server, ask, feed_of};

#[tokio::test]
async fn what_is_not_there_is_a_problem_wherever_it_is_not() {
    let server = Server::start().await;
    for path in [
        "/",
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
async fn a_head_is_answered_for_pages_and_refused_with_the_methods_elsewhere() {
    let server = Server::start().await;
    for path in ["/openapi.json", "/docs"] {
        let head = ask(server.bare(Method::HEAD, path)).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        let odd = ask(server.bare(Method::DELETE, path)).await;
        odd.problem(405, "method-not-allowed");
        assert_eq!(odd.header("allow"), Some("GET, HEAD"));
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
