//! Twins: the same intent many times at once, reworded, from several processes and keys,
//! while processes are killed.
//!
//! Each caller retries until it gets an answer, as an agent does after a broken connection.
//! The suite uses a few intents; at full length:
//!
//! ```text
//! TWIN_INTENTS=1000 cargo test -p maillatch --test e2e twins_of_many_intents
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use maillatch::deployment::{Process, Role};
use reqwest::Client;
use serde_json::Value;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};
use url::Url;

use super::office::{ALL, KEYS, Office, Profile, SENT, UNCERTAIN, on_each_database, request};
use crate::harness::TIMEOUT;

on_each_database!(
    fifty_twins_at_once_are_one_mail,
    twins_of_many_intents_during_kills_are_one_mail_each,
    twins_during_kills_without_a_key_are_at_most_one_mail_each,
);

const TWINS: usize = 50;
/// How many intents are asked for at the same time.
const AT_ONCE: usize = 4;
/// The most answers between two kills.
const BETWEEN_KILLS: usize = 300;
/// What is neither sent nor known to be uncertain.
const UNSETTLED: &str = "SELECT count(*) FROM sends WHERE state NOT IN ('sent', 'uncertain')";

async fn fifty_twins_at_once_are_one_mail(profile: Profile) {
    let office = Office::open(profile, "resend").await;
    let callers = Arc::new(Callers::of(&office));
    let ids = ask_for_all(callers, 1).await;
    assert_eq!(ids.len(), 1);
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.harness.count(ALL).await, 1);
    assert_eq!(office.accepted(), 1);
    office.harness.end().await;
}

/// The words that one twin uses.
fn words(twin: usize) -> &'static str {
    if twin.is_multiple_of(2) {
        "paid"
    } else {
        "sent"
    }
}

/// What all callers share.
struct Callers {
    http: Client,
    sender: String,
    tokens: Vec<String>,
    /// The present URLs of the feeds.
    feeds: RwLock<Vec<Url>>,
    answers: AtomicUsize,
}

/// What a caller was answered.
struct Answered {
    status: u16,
    id: String,
    state: String,
}

impl Callers {
    fn of(office: &Office) -> Self {
        let http = Client::builder().timeout(Duration::from_secs(20)).build();
        let callers = Self {
            http: http.unwrap(),
            sender: office.senders[0].name.clone(),
            tokens: office.tokens.clone(),
            feeds: RwLock::default(),
            answers: AtomicUsize::new(0),
        };
        callers.find_feeds(office);
        callers
    }

    fn find_feeds(&self, office: &Office) {
        let feeds = office.harness.deployment.playing(Role::Feed);
        *self.feeds.write().unwrap() = feeds.filter_map(Process::url).cloned().collect();
    }

    /// Asks until there is an answer.
    async fn ask(&self, order: &str, twin: usize) -> Answered {
        let deadline = Instant::now() + 2 * TIMEOUT;
        loop {
            if let Some((status, body)) = self.ask_once(order, twin).await
                && status < 500
                && status != 408
            {
                self.answers.fetch_add(1, Ordering::SeqCst);
                let text = |field: &str| body[field].as_str().map(str::to_owned);
                let (Some(id), Some(state)) = (text("id"), text("state")) else {
                    panic!("{status} without an id and a state: {body}");
                };
                return Answered { status, id, state };
            }
            assert!(Instant::now() < deadline, "no answer for {order}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn ask_once(&self, order: &str, twin: usize) -> Option<(u16, Value)> {
        let feed = {
            let feeds = self.feeds.read().unwrap();
            feeds.get(twin % feeds.len().max(1)).cloned()
        };
        let url = feed?.join("v1/sends").ok()?;
        let mut post = self.http.post(url).bearer_auth(&self.tokens[twin % KEYS]);
        if twin.is_multiple_of(4) {
            // Some repeat one request, others ask anew.
            post = post.header("idempotency-key", format!("{order}-{}", words(twin)));
        }
        let answer = post
            .json(&request(&self.sender, order, words(twin)))
            .send()
            .await
            .ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().await.ok()?))
    }
}

/// Every twin of every intent asks, a few intents at a time; returns the id of each.
async fn ask_for_all(callers: Arc<Callers>, intents: usize) -> BTreeMap<String, String> {
    let mut ids = BTreeMap::new();
    let orders: Vec<String> = (0..intents).map(|n| format!("o{n}")).collect();
    for some in orders.chunks(AT_ONCE) {
        let mut asking = JoinSet::new();
        for order in some {
            for twin in 0..TWINS {
                let (callers, order) = (Arc::clone(&callers), order.clone());
                asking.spawn(async move {
                    let answered = callers.ask(&order, twin).await;
                    (order, answered)
                });
            }
        }
        let mut created = BTreeSet::new();
        for (order, answered) in asking.join_all().await {
            match answered.status {
                // A kill may take the answer 201 with it; there are no two of them.
                201 => assert!(created.insert(order.clone()), "{order} was created twice"),
                200 | 409 => {}
                other => panic!("{other} for {order}"),
            }
            let known = ids.entry(order.clone());
            let known = known.or_insert_with(|| answered.id.clone());
            assert_eq!(*known, answered.id, "{order} has two ids");
        }
    }
    ids
}

/// Kills one process after the other at random moments, until all have asked; returns how
/// often.
async fn kill_now_and_then(
    office: &mut Office,
    callers: &Callers,
    asking: &JoinHandle<BTreeMap<String, String>>,
) -> usize {
    let mut kills = 0;
    while !asking.is_finished() {
        let answered = || callers.answers.load(Ordering::SeqCst);
        let next = answered() + rand::random_range(1..BETWEEN_KILLS);
        while answered() < next && !asking.is_finished() {
            sleep(Duration::from_millis(1)).await;
        }
        // Also between two answers.
        sleep(Duration::from_micros(rand::random_range(0..5_000))).await;
        let role = [Role::Feed, Role::Worker][rand::random_range(0..2)];
        let deployment = &mut office.harness.deployment;
        let which = rand::random_range(0..2);
        deployment.kill_one(role, which).await.unwrap();
        callers.find_feeds(office);
        office.harness.deployment.revive().await.unwrap();
        callers.find_feeds(office);
        kills += 1;
    }
    kills
}

/// Has all twins ask during kills, and waits until every intent is sent or known to be
/// uncertain. Returns the id of each.
async fn ask_during_kills(office: &mut Office, intents: usize) -> BTreeMap<String, String> {
    let callers = Arc::new(Callers::of(office));
    let begun = Instant::now();
    let asking = tokio::spawn(ask_for_all(Arc::clone(&callers), intents));
    let kills = kill_now_and_then(office, &callers, &asking).await;
    let ids = asking.await.unwrap();
    assert!(kills > 0, "no process was killed");
    assert_eq!(ids.len(), intents);
    let all = i64::try_from(intents).unwrap();
    assert_eq!(office.harness.count(ALL).await, all);
    office.harness.until_count(UNSETTLED, 0).await;
    // Also after the fact each caller gets the one, and its state.
    for (order, id) in &ids {
        let answered = callers.ask(order, 0).await;
        assert_eq!((&answered.id, answered.status == 201), (id, false));
        assert!(["sent", "uncertain"].contains(&answered.state.as_str()));
    }
    eprintln!(
        "{intents} intents, {TWINS} twins each, {kills} kills, {} accepted, {} uncertain, {:?}",
        office.accepted(),
        office.harness.count(UNCERTAIN).await,
        begun.elapsed()
    );
    office.senders[0].expect_each_at_most_once();
    ids
}

fn intents(few: usize) -> usize {
    std::env::var("TWIN_INTENTS").map_or(few, |count| count.parse().unwrap())
}

/// The provider knows keys, so every intent ends as sent.
async fn twins_of_many_intents_during_kills_are_one_mail_each(profile: Profile) {
    let intents = intents(40);
    let mut office = Office::open(profile, "resend").await;
    ask_during_kills(&mut office, intents).await;
    let all = i64::try_from(intents).unwrap();
    office.harness.until_count(SENT, all).await;
    assert_eq!(office.accepted(), intents);
    office.senders[0].expect_each_at_most_once();
    office.senders[0].same_bytes();
    office.harness.end().await;
}

/// The provider knows no keys: what was dispatched by a process that died is uncertain,
/// and all else was accepted once.
async fn twins_during_kills_without_a_key_are_at_most_one_mail_each(profile: Profile) {
    let intents = intents(20);
    let mut office = Office::open(profile, "ses").await;
    let ids = ask_during_kills(&mut office, intents).await;
    let accepted: BTreeSet<String> = office
        .provider()
        .accepted()
        .into_iter()
        .map(|mail| mail.id)
        .collect();
    let mut sent = BTreeSet::new();
    for id in ids.values() {
        let shown = office.show(id).await;
        if shown["state"] == "sent" {
            let receipt = shown["result"].as_str().unwrap().to_owned();
            assert!(accepted.contains(&receipt), "{shown}");
            assert!(sent.insert(receipt), "one acceptance for two intents");
        }
    }
    let uncertain = office.harness.count(UNCERTAIN).await;
    let uncertain = usize::try_from(uncertain).unwrap();
    assert_eq!(sent.len() + uncertain, intents);
    assert!(accepted.len() <= sent.len() + uncertain);
    office.harness.end().await;
}
