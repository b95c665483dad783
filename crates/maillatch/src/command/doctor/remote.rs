//! A server seen from outside: whether it is reached, ready and right by the clock, and
//! whether it accepts the key.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::http::header::HttpDate;
use pipeline::{Clock, SystemClock};
use reqwest::header::DATE;
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::Check;
use super::running::{PATIENCE, failing_parts, patiently};
use crate::dev;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Half of the time for which a signature is valid.
const CLOCK_TOLERANCE: u64 = 150;

/// Every check that needs nothing but the server's URL and, for the last one, a key.
pub(super) async fn check_all(url: &Url) -> Vec<Check> {
    let Ok(client) = Client::builder().timeout(TIMEOUT).build() else {
        return vec![Check::failed("server", "failed to build the HTTP client")];
    };
    let live = match get(&client, url, "livez", None).await {
        Ok(live) => live,
        Err(why) => return vec![Check::failed("server", why)],
    };
    let mut checks = vec![alive(url, &live)];
    checks.extend(clock(&live));
    checks.extend(ready(&client, url).await);
    checks.push(key(&client, url).await);
    checks
}

async fn get(
    client: &Client,
    url: &Url,
    path: &str,
    key: Option<&str>,
) -> Result<Response, String> {
    let base = url.as_str().trim_end_matches('/');
    let mut request = client.get(format!("{base}/{path}"));
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    request.send().await.map_err(|error| {
        let why = if error.is_timeout() {
            "does not answer"
        } else if error.is_connect() {
            "refuses the connection, or its name or certificate is wrong"
        } else {
            "cannot be asked"
        };
        format!("{base} {why}; check the URL, the proxy in front of the server, and that it runs")
    })
}

fn alive(url: &Url, live: &Response) -> Check {
    match live.status() {
        StatusCode::OK => Check::ok("server", format!("answers at {url}")),
        StatusCode::SERVICE_UNAVAILABLE => Check::failed(
            "server",
            "a part of it needs a restart: restart the process",
        ),
        status => Check::failed(
            "server",
            format!(
                "/livez is answered with {status}: this is another server, or a proxy that does not pass it on"
            ),
        ),
    }
}

/// The server's clock by its `Date` header.
fn clock(live: &Response) -> Option<Check> {
    let date: HttpDate = live.headers().get(DATE)?.to_str().ok()?.parse().ok()?;
    let server = SystemTime::from(date).duration_since(UNIX_EPOCH).ok()?;
    let ahead = SystemClock.now().as_seconds() - i64::try_from(server.as_secs()).ok()?;
    let apart = ahead.unsigned_abs();
    Some(if apart > CLOCK_TOLERANCE {
        let direction = if ahead > 0 { "ahead of" } else { "behind" };
        Check::failed(
            "clock",
            format!(
                "this machine's clock is {apart} s {direction} the server's; synchronise both with NTP"
            ),
        )
    } else {
        Check::ok("clock", format!("{apart} s off the server's clock"))
    })
}

/// What was learned from `/readyz`.
enum Readiness {
    /// The status of the answer, and its report.
    Reported(StatusCode, Value),
    /// Why there is no report.
    Unknown(String),
}

/// The parts of the server, one line each, and its warnings.
async fn ready(client: &Client, url: &Url) -> Vec<Check> {
    let asked = patiently(
        PATIENCE,
        async || readiness(client, url).await,
        |readiness| match readiness {
            Readiness::Reported(_, body) => Some(body),
            Readiness::Unknown(_) => None,
        },
    );
    let (status, body) = match asked.await {
        Readiness::Reported(status, body) => (status, body),
        Readiness::Unknown(why) => return vec![Check::failed("ready", why)],
    };
    let failing = failing_parts(&body);
    let mut checks = vec![if failing.is_empty() && status.is_success() {
        Check::ok("ready", "every part works")
    } else {
        let next = "`maillatch doctor` on the server's machine says more";
        Check::failed("ready", format!("{}; {next}", failing.join("; ")))
    }];
    let warnings = body.get("warnings").and_then(Value::as_array);
    let warnings: Vec<&str> = warnings
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !warnings.is_empty() {
        checks.push(Check::warning("warnings", warnings.join("; ")));
    }
    checks
}

async fn readiness(client: &Client, url: &Url) -> Readiness {
    let answer = match get(client, url, "readyz", None).await {
        Ok(answer) => answer,
        Err(why) => return Readiness::Unknown(why),
    };
    let status = answer.status();
    if status == StatusCode::MISDIRECTED_REQUEST {
        let host = url.host_str().unwrap_or_default();
        let next = format!("not shown to the name {host}; add it to server.hosts to see it here");
        return Readiness::Unknown(next);
    }
    match answer.json().await {
        Ok(body) => Readiness::Reported(status, body),
        Err(_) => Readiness::Unknown(format!(
            "/readyz is answered with {status} and no report: a proxy answers"
        )),
    }
}

/// Whether the server accepts the key of this environment.
async fn key(client: &Client, url: &Url) -> Check {
    let Ok(key) = std::env::var(dev::KEY) else {
        let next = format!("not tried; set {} to try an agent's key", dev::KEY);
        return Check::warning("key", next);
    };
    match get(client, url, "v1/inboxes?limit=1", Some(&key)).await {
        Err(why) => Check::failed("key", why),
        Ok(answer) => match answer.status() {
            StatusCode::OK => Check::ok("key", "accepted"),
            StatusCode::UNAUTHORIZED => Check::failed(
                "key",
                format!(
                    "{} is not accepted: it is misspelt, revoked or of another server; create one \
                     there with: maillatch api-key create NAME",
                    dev::KEY
                ),
            ),
            StatusCode::FORBIDDEN => Check::ok("key", "accepted; it lacks the scope `feed`"),
            StatusCode::NOT_FOUND => Check::failed(
                "key",
                "this process has no agents' API: use the URL of a `feed` or `up` process",
            ),
            status => Check::failed("key", format!("the server answers {status}; read its log")),
        },
    }
}
