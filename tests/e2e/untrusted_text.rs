//! Mails with text that tries to reach the agent's model, and every answer that an agent
//! gets about them: none contains that text.
//!
//! A mail is made of pieces that try to get through: instructions to a model, markup,
//! header lines, other scripts, invisible letters; in the subject, the sender's
//! name, the text, the HTML, attachment names and every header that has room. The
//! answers are the feed's pages and events, the states of attempts, the answers to
//! consumes, and problems. No 13 consecutive characters of a mail may be in an answer,
//! except in the value itself. The suite sends a few hundred mails. To send more, best
//! with a release build:
//!
//! ```text
//! HOSTILE_MAILS=100000 cargo test --release -p maillatch --test e2e untrusted_text
//! ```

mod mail;

use std::collections::HashSet;
use std::future::ready;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::wait::until;

use crate::harness::{Harness, Role, on_both_profiles, payload};
use mail::HostileMail;

on_both_profiles!(no_text_of_a_sender_reaches_an_agent);

/// How many mails share an inbox, and how many attempts are open meanwhile.
const BATCH: usize = 100;
const ATTEMPTS: usize = 4;
/// A run of characters of this length is not a coincidence.
const WORD: usize = 13;

async fn no_text_of_a_sender_reaches_an_agent(harness: Harness) {
    let mails = std::env::var("HOSTILE_MAILS");
    let mails: usize = mails.map_or(300, |count| count.parse().unwrap());
    let mut tally = Tally::default();
    for batch in 0..mails.div_ceil(BATCH) {
        play(&harness, batch, &mut tally).await;
    }
    eprintln!("{mails} mails: {tally:?}");
    // The test proves little if no mail ever gives a value.
    assert!(tally.values > mails / 20, "{tally:?}");
    assert!(tally.withheld > mails / 20, "{tally:?}");
    assert!(tally.buried < mails / 2, "{tally:?}");
    harness.end().await;
}

/// The outcomes of the mails.
#[derive(Debug, Default)]
struct Tally {
    items: usize,
    values: usize,
    withheld: usize,
    buried: usize,
    characters: usize,
}

/// Sends one batch and checks every answer about it.
async fn play(harness: &Harness, batch: usize, tally: &mut Tally) {
    let mut inboxes = vec![format!("s{batch}@inbox.test")];
    let mut attempts = Vec::new();
    for number in 0..ATTEMPTS {
        let kind = ["code", "link", "either", "code"][number];
        let from = [json!([]), json!([]), json!([]), json!(["example.com"])];
        let wish =
            json!({ "kind": kind, "from": from[number], "links": ["ok.test", "*.sub.ok.test"] });
        let attempt = harness.open(wish).await;
        inboxes.push(attempt["inbox"].as_str().unwrap().to_owned());
        attempts.push(attempt);
    }
    let (said, heard) = (Said::default(), Said::default());
    let stream = tokio::spawn(listen(harness, &inboxes[0], heard.clone()).await);
    let hostile_mails: Vec<HostileMail> = (0..BATCH)
        .map(|number| HostileMail::number(batch * BATCH + number))
        .collect();
    let buried = "SELECT count(*) FROM deliveries WHERE state = 'buried'";
    let buried_before = harness.count(buried).await;
    send(harness, batch, &hostile_mails, &inboxes).await;
    tally.buried += usize::try_from(harness.count(buried).await - buried_before).unwrap();

    for inbox in &inboxes {
        let items = harness.items(batch, inbox).await;
        tally.items += items.len();
        if *inbox == inboxes[0] {
            until_heard(&heard, &items).await;
        }
        for item in &items {
            said.add(item.to_string());
            tally.withheld += usize::from(item["verdict"] == "withheld");
            tally.values += usize::from(consume(harness, item, &said).await);
        }
    }
    for attempt in &attempts {
        ask(harness, attempt, &said).await;
    }
    stream.abort();
    let said = [said.all(), heard.all()].concat();
    tally.characters += said.iter().map(String::len).sum::<usize>();
    assert_none_of(&hostile_mails, &said);
}

/// Every answer that an agent got.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    fn add(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Reads the events of an inbox until it is aborted.
async fn listen(harness: &Harness, inbox: &str, said: Said) -> impl Future<Output = ()> + use<> {
    let (url, key) = harness.agent();
    let url = format!("{url}v1/events?inbox={inbox}");
    let request = reqwest::Client::new().get(url).bearer_auth(key);
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    async move {
        while let Ok(Some(chunk)) = response.chunk().await {
            said.add(String::from_utf8_lossy(&chunk).into_owned());
        }
    }
}

/// Waits until the stream has every item of the list.
async fn until_heard(heard: &Said, items: &[Value]) {
    until("every item is in the stream", || {
        let heard = heard.all().concat();
        let is_streamed = |item: &Value| heard.contains(item["id"].as_str().unwrap());
        ready(items.iter().all(is_streamed).then_some(()))
    })
    .await;
}

/// Posts the mails, most of them to the first inbox and some to each of the
/// others, and waits until all are processed.
async fn send(harness: &Harness, batch: usize, hostile_mails: &[HostileMail], inboxes: &[String]) {
    for (place, some) in hostile_mails.chunks(10).enumerate() {
        let posts = some.iter().enumerate().map(|(number, mail)| async move {
            let which = if number < inboxes.len() { number } else { 0 };
            let body = payload(&inboxes[which], &mail.raw);
            let id = format!("b{batch}-{place}-{number}");
            let posted = harness.post(number, &id, &body).await;
            assert_eq!(posted.status, 200, "{:?}", posted.body);
        });
        join_all(posts).await;
    }
    let unfinished = "SELECT count(*) FROM deliveries WHERE state IN ('pending', 'claimed')";
    harness.until_count(unfinished, 0).await;
}

/// Consumes an item; returns whether it gave a value. The value itself is not checked, but
/// the rest of the answer is.
async fn consume(harness: &Harness, item: &Value, said: &Said) -> bool {
    let id = item["id"].as_str().unwrap();
    let answer = harness.consume(id, 0, id).await;
    said.add(format!("{:?}", answer.headers));
    said.add(without_value(answer.body));
    answer.status == 200
}

async fn ask(harness: &Harness, attempt: &Value, said: &Said) {
    let id = attempt["id"].as_str().unwrap();
    let path = format!("/v1/attempts/{id}");
    let looked = harness.get(Role::Feed, &path).await;
    said.add(format!("{:?}", looked.headers));
    said.add(looked.body.to_string());
    let (_, taken) = harness
        .post_json(&format!("{path}/consume"), id, &json!({}))
        .await;
    said.add(without_value(taken));
}

fn without_value(mut answer: Value) -> String {
    for field in ["value", "token"] {
        if let Some(value) = answer.get_mut(field) {
            value.take();
        }
    }
    answer.to_string()
}

/// No long run of characters of a mail is in an answer.
fn assert_none_of(hostile_mails: &[HostileMail], said: &[String]) {
    let mut words: HashSet<String> = HashSet::new();
    for written in hostile_mails.iter().flat_map(|mail| &mail.written) {
        words.extend(runs(written));
    }
    assert!(
        words.len() > hostile_mails.len() * 50,
        "there is much to look for"
    );
    for text in said {
        // As it is written, and as a client decodes it.
        let read = text
            .replace("\\n", "\n")
            .replace("\\\"", "\"")
            .replace("\\\\", "\\");
        for run in runs(text).chain(runs(&read)) {
            assert!(!words.contains(&run), "{run:?} of a mail is in {text}");
        }
    }
}

fn runs(text: &str) -> impl Iterator<Item = String> + use<> {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    let last = letters.len().saturating_sub(WORD - 1);
    (0..last).map(move |start| letters[start..start + WORD].iter().collect())
}
