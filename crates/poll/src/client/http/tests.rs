use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

#[test]
fn api_url_needs_tls_unless_on_this_machine() {
    for good in [
        "https://api.x.test/v1",
        "http://127.0.0.1:1/",
        "http://localhost:1",
    ] {
        assert!(api_url(good).is_some(), "{good}");
    }
    for bad in [
        "http://api.x.test",
        "ftp://127.0.0.1",
        "nonsense",
        "http://[::2]/",
    ] {
        assert!(api_url(bad).is_none(), "{bad}");
    }
}

#[test]
fn key_is_sent_only_to_the_api_host_and_its_subdomains() {
    let base = Url::parse("https://api.x.test/v3").unwrap();
    let gets = |url: &str| gets_key(&base, &Url::parse(url).unwrap());
    assert!(gets("https://api.x.test/y") && gets("https://se.api.x.test/y"));
    assert!(!gets("https://cdn.x.test/y") && !gets("https://evilapi.x.test/y"));
}

/// Sends a request to a server that answers with exactly this; returns the result and
/// the request that the server received.
async fn asked(answer: &str, endless: Option<&'static [u8]>) -> (Result<Got, PollError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answer = answer.to_owned();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let read = stream.read(&mut request).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        // Until the client closes the connection.
        while let Some(more) = endless {
            if stream.write_all(more).await.is_err() {
                break;
            }
        }
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let auth = Auth::Bearer("the-key".into());
    let http = Http::new(Url::parse(&base).unwrap(), auth, 1000).unwrap();
    let got = http.mail(http.url(&["x"], &[]).unwrap(), "*/*").await;
    drop(http);
    (got, server.await.unwrap())
}

async fn wait(status: &str, headers: &str) -> PollError {
    let answer = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
    asked(&answer, None).await.0.unwrap_err()
}

#[tokio::test]
async fn retry_after_is_read_in_seconds_and_as_a_date() {
    let seconds = |n| PollError::Busy(Some(Duration::from_secs(n)));
    let (date, later) = (
        "Date: Sun, 15 Nov 2026 10:00:00 GMT\r\n",
        "Retry-After: Sun, 15 Nov 2026 10:01:30 GMT\r\n",
    );
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        assert_eq!(wait(status, "Retry-After: 7\r\n").await, seconds(7));
        assert_eq!(wait(status, &format!("{date}{later}")).await, seconds(90));
        assert_eq!(wait(status, "").await, PollError::Busy(None));
        for nonsense in ["soon", "-5", "1e9", "99999999999999999999999"] {
            let header = format!("Retry-After: {nonsense}\r\n");
            assert_eq!(
                wait(status, &header).await,
                PollError::Busy(None),
                "{nonsense}"
            );
        }
    }
    // A moment that has passed, by the same clock.
    let passed = "Date: Sun, 15 Nov 2026 11:00:00 GMT\r\n";
    let passed = wait("429 Too Many Requests", &format!("{passed}{later}")).await;
    assert_eq!(passed, seconds(0));
}

#[tokio::test]
async fn status_is_mapped_to_its_error() {
    assert_eq!(wait("401 Unauthorized", "").await, PollError::Unauthorized);
    assert_eq!(wait("500 Oops", "").await, PollError::Unavailable);
    assert_eq!(
        wait("400 Bad Request", "").await,
        PollError::UnexpectedAnswer
    );
    let foreign = "Location: https://elsewhere.test/\r\n";
    assert_eq!(wait("302 Found", foreign).await, PollError::ForeignHost);
}

#[tokio::test]
async fn answer_over_the_limit_is_too_large_and_one_within_it_complete() {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let (got, _) = asked(head, Some(&[b'x'; 512])).await;
    assert!(matches!(got, Ok(Got::TooLarge)), "{got:?}");
    let fits = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{}",
        "y".repeat(2000)
    );
    let longer = fits.replace("2000", "2001") + "y";
    let (got, _) = asked(&longer, None).await;
    assert!(matches!(got, Ok(Got::TooLarge)), "{got:?}");
    let (got, request) = asked(&fits, None).await;
    assert!(matches!(got, Ok(Got::Complete(answer)) if answer.body.len() == 2000));
    assert!(
        request
            .to_lowercase()
            .contains("authorization: bearer the-key"),
        "{request}"
    );
}

#[tokio::test]
async fn truncated_answer_is_unavailable() {
    let (got, _) = asked("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", None).await;
    assert_eq!(got.err(), Some(PollError::Unavailable));
}
