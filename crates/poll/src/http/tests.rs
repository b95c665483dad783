use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

#[test]
fn an_api_is_asked_over_tls_or_on_this_machine() {
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
fn the_key_is_shown_to_the_api_and_to_hosts_below_it_alone() {
    let base = Url::parse("https://api.x.test/v3").unwrap();
    let ours = |url: &str| is_ours(&base, &Url::parse(url).unwrap());
    assert!(ours("https://api.x.test/y") && ours("https://se.api.x.test/y"));
    assert!(!ours("https://cdn.x.test/y") && !ours("https://evilapi.x.test/y"));
}

/// What comes of asking a server that answers with exactly this, whose key it
/// is shown included.
async fn asked(answer: &str, endless: Option<&'static [u8]>) -> (Result<Got, PullError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answer = answer.to_owned();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; 4096];
        let read = stream.read(&mut heard).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        // For ever, unless somebody hangs up.
        while let Some(more) = endless {
            if stream.write_all(more).await.is_err() {
                break;
            }
        }
        String::from_utf8_lossy(&heard[..read]).into_owned()
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let auth = Auth::Bearer("the-key".into());
    let http = Http::new(Url::parse(&base).unwrap(), auth, 1000).unwrap();
    let got = http.mail(http.place(&["x"], &[]).unwrap(), "*/*").await;
    drop(http);
    (got, server.await.unwrap())
}

async fn wait(status: &str, headers: &str) -> PullError {
    let answer = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
    asked(&answer, None).await.0.unwrap_err()
}

#[tokio::test]
async fn a_wish_to_be_left_alone_is_understood_in_seconds_and_as_a_date() {
    let seconds = |n| PullError::Busy(Some(Duration::from_secs(n)));
    let (date, later) = (
        "Date: Sun, 15 Nov 2026 10:00:00 GMT\r\n",
        "Retry-After: Sun, 15 Nov 2026 10:01:30 GMT\r\n",
    );
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        assert_eq!(wait(status, "Retry-After: 7\r\n").await, seconds(7));
        assert_eq!(wait(status, &format!("{date}{later}")).await, seconds(90));
        assert_eq!(wait(status, "").await, PullError::Busy(None));
        for nonsense in ["soon", "-5", "1e9", "99999999999999999999999"] {
            let header = format!("Retry-After: {nonsense}\r\n");
            assert_eq!(
                wait(status, &header).await,
                PullError::Busy(None),
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
async fn each_status_is_the_trouble_that_it_tells_of() {
    assert_eq!(wait("401 Unauthorized", "").await, PullError::Unauthorised);
    assert_eq!(wait("500 Oops", "").await, PullError::Away);
    assert_eq!(wait("400 Bad Request", "").await, PullError::Odd);
    let away = "Location: https://elsewhere.test/\r\n";
    assert_eq!(wait("302 Found", away).await, PullError::LeadsAway);
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_off_and_an_honest_one_is_had_whole() {
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
    let (got, shown) = asked(&fits, None).await;
    assert!(matches!(got, Ok(Got::Whole(answer)) if answer.body.len() == 2000));
    assert!(
        shown
            .to_lowercase()
            .contains("authorization: bearer the-key"),
        "{shown}"
    );
}

#[tokio::test]
async fn who_hangs_up_in_the_middle_is_away() {
    let (got, _) = asked("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", None).await;
    assert_eq!(got.err(), Some(PullError::Away));
}
