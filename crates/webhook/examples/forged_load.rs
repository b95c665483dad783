//! How much a flood of forged posts slows down the real ones.
//!
//!   cargo run --release -p webhook --example `forged_load` [FORGED/s] [SECONDS]
//!
//! One webhook with two threads over SQLite, on loopback. It sends 50 signed posts a
//! second, first alone and then beside a flood of forged posts, several times in turn,
//! so that both are measured on the same machine. It prints the latencies of the
//! signed posts and how many rows are in the database at the end. Clients and server
//! share the cores: with two cores the flood costs the client about as much as the
//! server, so a real server does better.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark that cannot go on fails, and says what it found"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::{App, HttpServer};
use async_trait::async_trait;
use pipeline::{Clock, DeliveryId, Doorbell, Meters, QueueError, SystemClock};
use prometheus_client::registry::Registry;
use providers::{SourceSettings, Sources, sign};
use secrecy::SecretString;
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval};
use webhook::{
    CertificateFetch, CertificateUnavailable, Certificates, Committer, Deps, Settings, routes,
};

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const REAL_A_SECOND: u32 = 50;
const FLOODERS: u32 = 50;
const ROUNDS: usize = 3;

struct Silent;

#[async_trait]
impl Doorbell for Silent {
    async fn notify(&self, _deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        Ok(())
    }
}

#[async_trait]
impl CertificateFetch for Silent {
    async fn fetch(&self, _url: &str) -> Result<Vec<u8>, CertificateUnavailable> {
        Err(CertificateUnavailable::Away)
    }
}

/// A post of two kilobytes, with its signature or without a good one.
fn post(id: &str, is_real: bool) -> Vec<u8> {
    let raw = "x".repeat(2000);
    let body = format!(r#"{{"type":"email.received","data":{{"id":"{id}","raw":"{raw}"}}}}"#);
    let now = SystemClock.now();
    let signed = if is_real { body.as_bytes() } else { b"other" };
    let signature = sign(&SecretString::from(SECRET), id, now, signed).unwrap();
    let (length, stamp) = (body.len(), now.as_seconds());
    format!(
        "POST /hooks/main HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nwebhook-id: {id}\r\nwebhook-timestamp: {stamp}\r\n\
         webhook-signature: {signature}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Sends a post and reads the status of its answer; answers fit one read.
async fn exchange(connection: &mut TcpStream, post: &[u8]) -> u16 {
    connection.write_all(post).await.unwrap();
    let mut answer = [0; 2048];
    let mut have = 0;
    loop {
        have += connection.read(&mut answer[have..]).await.unwrap();
        let text = String::from_utf8_lossy(&answer[..have]).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        if body.len() >= length {
            return head.split(' ').nth(1).unwrap().parse().unwrap();
        }
    }
}

/// Real posts for a while; how long each took.
async fn real(port: u16, span: Duration) -> Vec<Duration> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    connection.set_nodelay(true).unwrap();
    let mut tick = interval(Duration::from_secs(1) / REAL_A_SECOND);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (begun, mut taken) = (Instant::now(), Vec::new());
    while begun.elapsed() < span {
        tick.tick().await;
        let real = post(&uuid_like(), true);
        let sent = Instant::now();
        assert_eq!(exchange(&mut connection, &real).await, 200);
        taken.push(sent.elapsed());
    }
    taken
}

fn uuid_like() -> String {
    DeliveryId::new().to_string()
}

/// Forged posts until the end; each connection has its share.
async fn flood(port: u16, a_second: u32, until: Instant, sent: Arc<AtomicU64>) {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    connection.set_nodelay(true).unwrap();
    let forged = post("msg_forged", false);
    let mut tick = interval(Duration::from_secs(1) / a_second);
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    while Instant::now() < until {
        tick.tick().await;
        assert_eq!(exchange(&mut connection, &forged).await, 401);
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

fn at(sorted: &[Duration], share: f64) -> f64 {
    let place = ((sorted.len() - 1) as f64 * share).round() as usize;
    sorted[place].as_secs_f64() * 1000.0
}

fn say(what: &str, taken: &mut [Duration]) -> f64 {
    taken.sort_unstable();
    let (half, most, worst) = (at(taken, 0.5), at(taken, 0.99), at(taken, 1.0));
    let count = taken.len();
    println!(
        "{what:<8} {count:>6} real posts  p50 {half:.2} ms  p99 {most:.2} ms  max {worst:.2} ms"
    );
    most
}

/// Serves on a thread of its own, as the binary does.
fn serve(store: &Store) -> u16 {
    let meters = Meters::register(&mut Registry::default());
    let source = SourceSettings::standard_webhooks([SecretString::from(SECRET)]);
    let deps = Deps {
        refused: Arc::default(),
        sources: Arc::new(Sources::build(BTreeMap::from([("main".to_owned(), source)])).unwrap()),
        certificates: Arc::new(Certificates::new(Arc::new(Silent), Arc::new(SystemClock))),
        committer: Committer::start(
            Arc::clone(&store.deliveries),
            Arc::new(Silent),
            meters.clone(),
            &Settings::default(),
        ),
        quota: Arc::default(),
        clock: Arc::new(SystemClock),
        meters,
        settings: Settings::default(),
    };
    let server = HttpServer::new(move || App::new().configure(routes(deps.clone())))
        .workers(2)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .unwrap();
    let port = server.addrs()[0].port();
    tokio::spawn(server.run());
    port
}

/// What rows are sealed with; any will do here.
fn secrets() -> store::Secrets {
    store::Secrets {
        keyring: store::SealKey::new([7; 32]).into(),
        server_key: pipeline::ServerKey::new([7; 32]),
    }
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = |default: u32| args.next().map_or(default, |text| text.parse().unwrap());
    let (forged_a_second, seconds) = (next(5000), next(10));
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("bench.db").display());
    let settings = store::Settings::new(url.into()).sealed_with(secrets());
    let store = store::open(&settings).await.unwrap();
    let port = serve(&store);
    let span = Duration::from_secs(seconds.into());
    let warm_up = real(port, Duration::from_secs(1)).await.len();

    let (mut quiet, mut loaded) = (Vec::new(), Vec::new());
    let sent = Arc::new(AtomicU64::new(0));
    for _ in 0..ROUNDS {
        quiet.extend(real(port, span).await);
        let until = Instant::now() + span;
        let flooders: Vec<_> = (0..FLOODERS)
            .map(|_| {
                let share = forged_a_second / FLOODERS;
                tokio::spawn(flood(port, share, until, Arc::clone(&sent)))
            })
            .collect();
        loaded.extend(real(port, span).await);
        for flooder in flooders {
            flooder.await.unwrap();
        }
    }
    let before = say("quiet", &mut quiet);
    let beside = say("flooded", &mut loaded);
    let forged = sent.load(Ordering::Relaxed);
    let rate = forged as f64 / (span.as_secs_f64() * ROUNDS as f64);
    println!("{forged} forged posts, {rate:.0} a second, each answered 401");
    println!(
        "p99 beside the flood: {:.2} times the quiet one",
        beside / before
    );
    let rows = store.deliveries.backlog().await.unwrap().unfinished;
    let real = warm_up + quiet.len() + loaded.len();
    println!("{rows} rows for {real} real posts");
    assert_eq!(
        rows, real as u64,
        "a forged post was stored, or a real one was not"
    );
}
