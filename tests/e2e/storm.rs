//! Fifty concurrent consumers of every artifact, while the feed processes are killed with
//! SIGKILL: each value goes to one consumer.
//!
//! Each consumer retries with the same idempotency key until it gets an answer, as an agent
//! does after a broken connection. The suite uses a few artifacts; at full length:
//!
//! ```text
//! STORM_ARTIFACTS=200 cargo test -p maillatch --test e2e storm
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use maillatch::deployment::Process;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::harness::{Harness, Role, TIMEOUT, otp_delivery};

const CONSUMERS: usize = 50;
/// How many artifacts are requested at the same time.
const AT_ONCE: usize = 4;
/// The maximum number of answers between two kills.
const BETWEEN_DEATHS: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn each_value_goes_to_one_of_fifty_while_processes_are_killed_embedded() {
    let crowd = Crowd::new();
    let harness = Harness::embedded_with(&crowd.settings()).await;
    each_value_goes_to_one(harness, crowd).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_value_goes_to_one_of_fifty_while_processes_are_killed_full() {
    let crowd = Crowd::new();
    let harness = Harness::full_with(&crowd.settings()).await;
    each_value_goes_to_one(harness, crowd).await;
}

/// Fifty consumers, each with its own API key.
struct Crowd {
    tokens: Vec<String>,
}

impl Crowd {
    fn new() -> Self {
        let tokens = (0..CONSUMERS).map(|_| feed::Keys::mint()).collect();
        Self { tokens }
    }

    fn settings(&self) -> String {
        let mut settings = "feed.replay_window = \"1h\"\n".to_owned();
        for (number, token) in self.tokens.iter().enumerate() {
            let line = format!("token = \"{token}\", inboxes = [\"*\"]");
            writeln!(settings, "key.c{number} = {{ {line} }}").unwrap();
        }
        settings
    }
}

/// What all consumers share.
struct Storm {
    client: reqwest::Client,
    tokens: Vec<String>,
    /// The present URLs of the feeds.
    feeds: RwLock<Vec<Url>>,
    answers: AtomicUsize,
    /// Which consumer got which value of which artifact.
    told: Mutex<BTreeMap<(String, usize), BTreeSet<String>>>,
}

impl Storm {
    fn new(crowd: Crowd) -> Self {
        let client = reqwest::Client::builder().timeout(Duration::from_secs(20));
        Self {
            client: client.build().unwrap(),
            tokens: crowd.tokens,
            feeds: RwLock::default(),
            answers: AtomicUsize::new(0),
            told: Mutex::default(),
        }
    }

    fn find_feeds(&self, harness: &Harness) {
        let feeds = harness.deployment.playing(Role::Feed);
        let feeds = feeds.filter_map(Process::url).cloned().collect();
        *self.feeds.write().unwrap() = feeds;
    }

    /// Retries until there is a final answer; returns the status and whether it was a
    /// replay.
    async fn get(&self, artifact: &str, consumer: usize) -> (u16, bool) {
        let deadline = Instant::now() + 2 * TIMEOUT;
        loop {
            if let Some((status, replayed, body)) = self.ask_once(artifact, consumer).await
                && status < 500
            {
                if status == 200 {
                    let value = body["value"].as_str().unwrap().to_owned();
                    let who = (artifact.to_owned(), consumer);
                    let mut told = self.told.lock().unwrap();
                    told.entry(who).or_default().insert(value);
                }
                self.answers.fetch_add(1, Ordering::SeqCst);
                return (status, replayed);
            }
            assert!(Instant::now() < deadline, "no answer for {artifact}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn ask_once(&self, artifact: &str, consumer: usize) -> Option<(u16, bool, Value)> {
        let feed = {
            let feeds = self.feeds.read().unwrap();
            feeds.get(consumer % feeds.len().max(1)).cloned()
        };
        let url = feed?.join(&format!("v1/artifacts/{artifact}/consume"));
        let request = self.client.post(url.unwrap());
        let request = request
            .bearer_auth(&self.tokens[consumer])
            .header("idempotency-key", artifact);
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        let replayed = answer.headers().contains_key("idempotency-replayed");
        Some((status, replayed, answer.json().await.ok()?))
    }

    /// The consumer that got a value is the one that its row names.
    async fn every_disclosure_has_its_row(&self, harness: &Harness) {
        let told = self.told.lock().unwrap().clone();
        let rows = harness.database.consumes().await;
        for ((artifact, consumer), values) in &told {
            assert_eq!(values.len(), 1, "{artifact} has two values");
            let row = (artifact.clone(), format!("c{consumer}"));
            assert!(rows.contains(&row), "{row:?} was told and has no row");
        }
    }
}

async fn each_value_goes_to_one(mut harness: Harness, crowd: Crowd) {
    let count = std::env::var("STORM_ARTIFACTS").map_or(16, |count| count.parse().unwrap());
    let codes = bring(&harness, count).await;
    let storm = Arc::new(Storm::new(crowd));
    storm.find_feeds(&harness);
    let asking = tokio::spawn(ask_for_all(
        Arc::clone(&storm),
        codes.keys().cloned().collect(),
    ));
    let deaths = die_now_and_then(&mut harness, &storm, &asking).await;
    let winners = asking.await.unwrap();
    eprintln!("{count} artifacts, {CONSUMERS} consumers each, {deaths} deaths");
    assert!(deaths > 0, "nobody died");

    storm.every_disclosure_has_its_row(&harness).await;
    assert_eq!(harness.database.consumes().await.len(), count);
    for (artifact, code) in &codes {
        let winner = winners[artifact];
        // The consumer repeats the request and gets the same answer; others get nothing.
        assert_eq!(storm.get(artifact, winner).await, (200, true));
        assert_eq!(storm.get(artifact, (winner + 1) % CONSUMERS).await.0, 409);
        let told = storm.told.lock().unwrap();
        let told: Vec<_> = told.iter().filter(|((of, _), _)| of == artifact).collect();
        let values = BTreeSet::from([code.clone()]);
        assert_eq!(told, [(&(artifact.clone(), winner), &values)]);
    }
    harness.end().await;
}

/// Sends this many codes, each to its own inbox; returns which artifact has which code.
async fn bring(harness: &Harness, count: usize) -> BTreeMap<String, String> {
    let code = |number: usize| (100_000 + number * 4_241).to_string();
    for number in 0..count {
        let body = otp_delivery(&format!("a{number}@inbox.test"), "m", &code(number));
        let posted = harness.post(number, &format!("msg_{number}"), &body).await;
        assert_eq!(posted.status, 200);
    }
    let mut codes = BTreeMap::new();
    for number in 0..count {
        let inbox = format!("a{number}@inbox.test");
        let items = harness.until_items(&inbox, 1).await;
        let id = items[0]["id"].as_str().unwrap().to_owned();
        codes.insert(id, code(number));
    }
    codes
}

/// Every consumer requests every artifact, a few at a time; returns who got which.
async fn ask_for_all(storm: Arc<Storm>, artifacts: Vec<String>) -> BTreeMap<String, usize> {
    let mut winners = BTreeMap::new();
    for some in artifacts.chunks(AT_ONCE) {
        let mut asking = JoinSet::new();
        for (artifact, consumer) in some
            .iter()
            .flat_map(|a| (0..CONSUMERS).map(move |c| (a, c)))
        {
            let (storm, artifact) = (Arc::clone(&storm), artifact.clone());
            asking.spawn(async move {
                let (status, _) = storm.get(&artifact, consumer).await;
                (artifact, consumer, status)
            });
        }
        for (artifact, consumer, status) in asking.join_all().await {
            match status {
                200 => {
                    let other = winners.insert(artifact, consumer);
                    assert_eq!(other, None, "two were told the same value");
                }
                409 => {}
                other => panic!("{other}"),
            }
        }
    }
    winners
}

/// Kills and restarts the feeds at random moments until the work is done; returns how
/// often.
async fn die_now_and_then(
    harness: &mut Harness,
    storm: &Storm,
    asking: &tokio::task::JoinHandle<BTreeMap<String, usize>>,
) -> usize {
    let mut deaths = 0;
    while !asking.is_finished() {
        let next = storm.answers.load(Ordering::SeqCst) + rand::random_range(1..BETWEEN_DEATHS);
        while storm.answers.load(Ordering::SeqCst) < next && !asking.is_finished() {
            sleep(Duration::from_millis(1)).await;
        }
        // Also between two answers.
        sleep(Duration::from_micros(rand::random_range(0..5_000))).await;
        harness.deployment.kill(Role::Feed).await.unwrap();
        storm.every_disclosure_has_its_row(harness).await;
        harness.deployment.revive().await.unwrap();
        storm.find_feeds(harness);
        deaths += 1;
    }
    deaths
}
