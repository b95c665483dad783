//! Ten thousand agents that wait, on one process.
//!
//!   cargo bench -p maillatch --bench waiting [-- WAITERS]
//!
//! Starts the whole service embedded, as a process of its own, and opens one long
//! poll for each of so many inboxes. Said are what a sleeping waiter costs in
//! resident memory, and how long it takes from the first byte of a webhook's post
//! until its waiter has the new item, one after another while the rest sleep: that
//! is more than the feed's part of it, for commit, bell, claim and extraction are
//! in it. Server and clients share the machine. Each side needs a file descriptor
//! for every waiter: `ulimit -n` has to allow it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark that cannot go on fails, and says what it found"
)]

use std::path::Path;
use std::time::Duration;

use maillatch::deployment::{Backing, Deployment, Process, Role};
use pipeline::{Clock, SystemClock};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// How many new items are timed.
const ITEMS: usize = 500;
/// How many agents come before, so that what every process has after its first
/// requests is not counted.
const WARM_UP: usize = 200;
/// How many connections are opened at the same time.
const AT_ONCE: usize = 100;
/// Every wait must outlast the opening of all and the timing of all items.
const SETTINGS: &str =
    "feed.max_waits = 100000\nfeed.wait_limit = \"300s\"\nlog.filter = \"warn\"\n";

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let waiters = arguments.find_map(|argument| argument.parse().ok());
    let waiters: usize = waiters.unwrap_or(10_000);
    refuse_few_descriptors(waiters + 200);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let binary = Path::new(env!("CARGO_BIN_EXE_maillatch"));
    let mut deployment = Deployment::launch(binary, Backing::Embedded, SETTINGS)
        .await
        .unwrap();
    let bench = Bench::over(&deployment);

    let (tell, mut heard) = mpsc::unbounded_channel();
    bench.open(0..WARM_UP, &tell).await;
    for number in 0..WARM_UP {
        bench.post(number).await;
        heard.recv().await.unwrap();
    }
    let before = bench.resident();
    let began = Instant::now();
    bench.open(WARM_UP..WARM_UP + waiters, &tell).await;
    let opening = began.elapsed();
    let after = bench.resident();
    let each = (after - before) as f64 / waiters as f64;
    println!(
        "waiters        {waiters}, opened in {:.1} s",
        opening.as_secs_f64()
    );
    println!("memory         {before} KiB before, {after} KiB while they wait");
    println!("each waiter    {each:.1} KiB");

    time_items(&bench, waiters, &mut heard).await;
    deployment.stop().await.unwrap();
}

/// New items for some of the waiters, one after the other.
async fn time_items(
    bench: &Bench,
    waiters: usize,
    heard: &mut mpsc::UnboundedReceiver<(usize, Instant)>,
) {
    let items = ITEMS.min(waiters);
    let mut latencies = Vec::new();
    for item in 0..items {
        // All over the place, each waiter once.
        let number = WARM_UP + (item * 7_919) % waiters;
        let began = Instant::now();
        bench.post(number).await;
        let heard = timeout(Duration::from_secs(10), heard.recv()).await;
        let (who, at) = heard.unwrap().unwrap();
        assert_eq!(who, number, "somebody else was woken");
        latencies.push((at - began).as_secs_f64() * 1000.0);
    }
    bench.until_waiting(waiters - items).await;
    latencies.sort_by(f64::total_cmp);
    let [p50, p90, p99, worst] = [500, 900, 990, 1000].map(|part| {
        let place = (latencies.len() - 1) * part / 1000;
        latencies.get(place).copied().unwrap_or_default()
    });
    println!(
        "post to waiter p50 {p50:.1} ms, p90 {p90:.1} ms, p99 {p99:.1} ms, \
         worst {worst:.1} ms of {items}"
    );
}

/// Both sides of every connection are files, and a child inherits the limit.
fn refuse_few_descriptors(needed: usize) {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)?.parse::<usize>().ok());
    let enough = soft.is_none_or(|soft| soft >= needed);
    assert!(enough, "run `ulimit -n {needed}` first");
}

struct Bench {
    address: String,
    pid: u32,
    key: String,
    hook: url::Url,
    metrics: url::Url,
    secret: secrecy::SecretString,
    client: reqwest::Client,
}

impl Bench {
    fn over(deployment: &Deployment) -> Self {
        let process = deployment.playing(Role::Feed).next().unwrap();
        let url = process.url().unwrap();
        Self {
            address: format!("{}:{}", url.host_str().unwrap(), url.port().unwrap()),
            pid: Process::pid(process).unwrap(),
            key: deployment.key(0).expose_secret().to_owned(),
            hook: url.join("hooks/dev").unwrap(),
            metrics: process.ops_url().unwrap().join("metrics").unwrap(),
            secret: deployment.signing_secret(),
            client: reqwest::Client::new(),
        }
    }

    /// Opens a long poll for each number, a few at a time; whoever gets an answer
    /// tells so. Nobody else waits meanwhile.
    async fn open(
        &self,
        numbers: std::ops::Range<usize>,
        tell: &mpsc::UnboundedSender<(usize, Instant)>,
    ) {
        let first = numbers.start;
        for number in numbers.clone() {
            let (address, tell) = (self.address.clone(), tell.clone());
            let request = format!(
                "GET /v1/inboxes/w{number}@inbox.test/artifacts?wait=300 HTTP/1.1\r\n\
                 host: {address}\r\nauthorization: Bearer {}\r\n\r\n",
                self.key
            );
            tokio::spawn(async move {
                let mut connection = TcpStream::connect(&address).await.unwrap();
                connection.write_all(request.as_bytes()).await.unwrap();
                let mut answer = [0; 2048];
                let count = connection.read(&mut answer).await.unwrap_or(0);
                let at = Instant::now();
                let text = String::from_utf8_lossy(answer.get(..count).unwrap_or_default());
                assert!(text.starts_with("HTTP/1.1 200"), "{text}");
                let _ = tell.send((number, at));
            });
            let opened = number + 1 - first;
            if opened.is_multiple_of(AT_ONCE) || number + 1 == numbers.end {
                self.until_waiting(opened).await;
            }
        }
    }

    async fn post(&self, number: usize) {
        let mail = format!(
            "From: no-reply@example.com\r\nMessage-ID: <{number}@example.com>\r\n\
             Subject: Your code\r\n\r\nYour verification code is {}.\r\n",
            100_000 + number
        );
        let raw = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, mail);
        let data =
            serde_json::json!({ "recipients": [format!("w{number}@inbox.test")], "raw": raw });
        let body = serde_json::json!({ "type": "email.received", "data": data }).to_string();
        let (id, now) = (format!("post-{number}"), SystemClock.now());
        let signature = providers::sign(&self.secret, &id, now, body.as_bytes()).unwrap();
        let request = self.client.post(self.hook.clone());
        let request = request
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now.as_seconds())
            .header("webhook-signature", signature)
            .body(body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }

    /// Waits until so many sleep, by the server's own count.
    async fn until_waiting(&self, count: usize) {
        let wanted = format!("maillatch_waiting {count}");
        let deadline = Instant::now() + Duration::from_mins(2);
        loop {
            let metrics = self.client.get(self.metrics.clone()).send().await.unwrap();
            let metrics = metrics.text().await.unwrap();
            if metrics.lines().any(|line| line == wanted) {
                return;
            }
            assert!(Instant::now() < deadline, "not {wanted}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// What the server has in memory, in KiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap()
    }
}
