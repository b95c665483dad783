//! The list as server-sent events.

use feed::Settings;
use reqwest::{Method, Response};

use crate::harness::{INBOX, OTHER_INBOX, Server, ask, feed_of};
use crate::wait::{server_with_failing_store, wait_until_open};

/// A stream, and the text it has sent so far.
struct Listener {
    response: Response,
    text: String,
}

impl Listener {
    async fn start(server: &Server, query: &str, last: Option<&str>) -> Self {
        let path = format!("/v1/events?inbox={INBOX}{query}");
        let mut request = server
            .bare(Method::GET, &path)
            .bearer_auth(server.token("a"));
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!(header("content-type"), "text/event-stream");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-accel-buffering"), "no");
        assert!(header("ratelimit").starts_with("\"reads\""));
        let text = String::new();
        Self { response, text }
    }

    /// Reads until the stream has sent this many artifacts.
    async fn until(&mut self, count: usize) -> Vec<(String, String)> {
        while self.artifacts().len() < count {
            let chunk = self.response.chunk().await.unwrap();
            let chunk = chunk.expect("the stream has ended");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        self.artifacts()
    }

    /// Reads to the end and returns the whole text.
    async fn ended(mut self) -> String {
        while let Some(chunk) = self.response.chunk().await.unwrap() {
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        self.text
    }

    /// The cursors and artifact ids of complete events.
    fn artifacts(&self) -> Vec<(String, String)> {
        let events = self.text.split_inclusive("\n\n");
        let whole = events.filter(|event| event.ends_with("\n\n"));
        whole
            .filter_map(|event| {
                let event = event.strip_prefix("id: ")?;
                let (cursor, rest) = event.split_once("\nevent: artifact\ndata: ")?;
                let item: serde_json::Value = serde_json::from_str(rest.trim()).unwrap();
                Some((cursor.to_owned(), item["id"].as_str().unwrap().to_owned()))
            })
            .collect()
    }
}

fn ids(events: &[(String, String)]) -> Vec<&str> {
    events.iter().map(|(_, id)| id.as_str()).collect()
}

#[tokio::test]
async fn stream_sends_existing_and_new_items_in_order() {
    let server = Server::start().await;
    let first = server.store_code(INBOX, "111111").await;
    let mut listener = Listener::start(&server, "", None).await;
    let events = listener.until(1).await;
    assert_eq!(ids(&events), [first.as_str()]);
    server.store_code(OTHER_INBOX, "999999").await;
    let second = server.store_code(INBOX, "222222").await;
    let third = server.store_code(INBOX, "333333").await;
    let events = listener.until(3).await;
    assert_eq!(ids(&events), [&first, &second, &third]);
    assert!(listener.text.starts_with("retry: 2000\n\n"));
    for value in ["111111", "222222", "333333", "999999"] {
        assert!(!listener.text.contains(value), "{}", listener.text);
    }
    // The event ids are cursors of the list.
    let (cursor, _) = &events[1];
    let rest = server
        .read(&feed_of(INBOX, &format!("?after={cursor}")))
        .await;
    assert_eq!(rest.ids(), [third]);
}

#[tokio::test]
async fn reconnected_stream_has_no_gap_and_no_repeat() {
    let server = Server::start().await;
    let mut all = Vec::new();
    for n in 0..5 {
        all.push(server.store_code(INBOX, &format!("11111{n}")).await);
    }
    let mut listener = Listener::start(&server, "", None).await;
    let events = listener.until(5).await;
    drop(listener);
    all.push(server.store_code(INBOX, "222222").await);
    let (last, _) = &events[2];
    // `Last-Event-ID` overrides the parameter of the URL.
    let (first, _) = &events[0];
    let mut again = Listener::start(&server, &format!("&after={first}"), Some(last)).await;
    assert_eq!(ids(&again.until(3).await), all[3..]);
    let mut by_parameter = Listener::start(&server, &format!("&after={last}"), None).await;
    assert_eq!(ids(&by_parameter.until(3).await), all[3..]);
}

#[tokio::test]
async fn stopping_process_ends_the_stream_with_shutdown() {
    let server = Server::start().await;
    let listener = Listener::start(&server, "", None).await;
    wait_until_open(&server, 1).await;
    let (text, ()) = futures_util::future::join(listener.ended(), server.stop()).await;
    assert!(text.ends_with("event: shutdown\ndata: {}\n\n"), "{text}");
    assert_eq!(server.meters.waiting.get(), 0);
}

#[tokio::test]
async fn stream_survives_a_short_store_outage() {
    let (server, database) = server_with_failing_store().await;
    let mut listener = Listener::start(&server, "", None).await;
    // One read before the response begins, and one before the stream sleeps.
    database.read_times(2).await;
    database.fail(2);
    // The read that was counted last may still see the first item; the second item comes
    // after the outage in any case.
    let mut stored = Vec::new();
    for value in ["493817", "493818"] {
        stored.push(server.store_code(INBOX, value).await);
        assert_eq!(ids(&listener.until(stored.len()).await), stored);
    }
    assert!(database.has_recovered());
    assert!(!listener.text.contains("problem"), "{}", listener.text);
}

#[tokio::test]
async fn streams_use_wait_slots() {
    let settings = Settings {
        max_waits: 1,
        ..Settings::default()
    };
    let server = Server::start_with(settings).await;
    let _listener = Listener::start(&server, "", None).await;
    let second = server.read(&format!("/v1/events?inbox={INBOX}")).await;
    second.problem(429, "too-many-waits");
    let wait = server.read(&feed_of(INBOX, "?wait=5")).await;
    wait.problem(429, "too-many-waits");
}

#[tokio::test]
async fn invalid_stream_requests_return_problems() {
    let server = Server::start().await;
    for query in [
        "",
        "?inbox=a@inbox.test&wait=3",
        "?inbox=a@inbox.test&inbox=b@inbox.test",
    ] {
        let answer = server.read(&format!("/v1/events{query}")).await;
        answer.problem(400, "invalid-parameter");
    }
    let path = format!("/v1/events?inbox={INBOX}");
    let forged = server
        .bare(Method::GET, &path)
        .bearer_auth(server.token("a"))
        .header("Last-Event-ID", "AAAA");
    ask(forged).await.problem(400, "invalid-cursor");
    let path = format!("/v1/events?inbox={OTHER_INBOX}");
    let foreign = server.read_as("narrow", &path).await;
    foreign.problem(404, "not-found");
}
