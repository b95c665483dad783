//! Polling of every provider with an API, with broken webhooks and a poller that is
//! killed in between.

use std::collections::BTreeMap;
use std::time::Duration;

use maillatch::deployment::Role;
use pipeline::{Clock, SystemClock};
use providers::{Post, Sample, SourceSettings, Sources};
use serde_json::{Value, json};
use testkit::wait::until;
use tokio::time::sleep;

use crate::harness::Harness;
use crate::provider_api::{Mail, ProviderApi, now};

/// How many mails arrive at each provider; `POLL_MAILS=500` runs it at full length.
fn mails() -> usize {
    let set = std::env::var("POLL_MAILS").ok();
    set.map_or(36, |text| text.parse().unwrap())
}

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz";
const BRISK: &str = "poll.lease = \"2s\"\npoll.answer_budget = \"1s\"\n";
const POSTING: [&str; 6] = [
    "agentmail",
    "mailgun",
    "mailhook",
    "nylas",
    "postmark",
    "resend",
];

/// The source of a provider, as TOML.
pub(crate) fn source(api: &ProviderApi, provider: &str, every: u32) -> String {
    let proof = match provider {
        "postmark" => "url_token = \"a-long-token\"".to_owned(),
        "http-list" => String::new(),
        "mailhook" => {
            "url_token = \"a-long-token\"\nrecipient = \"mailhook@inbox.test\"".to_owned()
        }
        _ => format!("secrets = [\"{SECRET}\"]"),
    };
    let poll = match provider {
        "agentmail" => "accounts = [\"agentmail@inbox.test\"]",
        "nylas" => "accounts = [\"grant-1\"]",
        "mailhook" => "accounts = [\"ea_1\"], agent_id = \"mh_1\"",
        "mailgun" => "accounts = [\"inbox.test\"]",
        "http-list" => {
            "list = { path = \"/mails\", items = \"data.mails\", id = \"id\", next = \"next\", \
             next_field = \"cursor\", raw_path = \"/mails/{id}/raw\", recipients = \"to\", \
             key_header = \"X-Key\" }"
        }
        _ => "",
    };
    let comma = if poll.is_empty() { "" } else { ", " };
    format!(
        "[source.{provider}]\nprovider = \"{provider}\"\n{proof}\napi_key = \"the-api-key\"\n\
         api_url = \"{}\"\npoll = {{ every_seconds = {every}{comma}{poll} }}\n",
        api.url(provider)
    )
}

/// The same sources, to sign posts as their providers do.
pub(crate) fn signers(settings: &str) -> Sources {
    let table: toml::Table = settings.parse().unwrap();
    let sources: BTreeMap<String, SourceSettings> = table["source"].clone().try_into().unwrap();
    Sources::build(sources).unwrap()
}

/// A code that no other mail has.
fn code(provider: usize, n: usize) -> String {
    (100_000 + provider * 100_000 + n * 97).to_string()
}

/// A post about a mail, and the mail as the provider's API returns it.
pub(crate) struct ProviderMail {
    pub(crate) mail: Mail,
    post: Option<Post>,
}

pub(crate) fn provider_mail(
    signers: &Sources,
    provider: &str,
    id: &str,
    value: &str,
) -> ProviderMail {
    let recipient = format!("{provider}@inbox.test");
    let text = format!("Your verification code is {value}. It expires in 10 minutes.");
    let sample = Sample {
        id,
        at: SystemClock.now(),
        from: "no-reply@example.com",
        recipient: &recipient,
        subject: "Your verification code",
        text: &text,
    };
    // Postmark's sample has the raw message of every sample in it.
    let raw = signers.get("postmark").unwrap().sample(&sample).unwrap();
    let raw: Value = serde_json::from_slice(&raw.body).unwrap();
    let raw = raw["RawEmail"].as_str().unwrap().to_owned();
    let post = signers
        .get(provider)
        .and_then(|source| source.sample(&sample));
    let body = post.as_ref().map(|post| serde_json::from_slice(&post.body));
    let body: Value = body.and_then(Result::ok).unwrap_or_default();
    let (object, post) = match provider {
        "agentmail" => (body["message"].clone(), post),
        "nylas" => (body["data"]["object"].clone(), post),
        "mailhook" => (body["data"].clone(), post),
        "postmark" => {
            // The webhook contains the original; the API does not, and formats the
            // sender in another way.
            let mut plain = body;
            plain.as_object_mut().unwrap().remove("RawEmail");
            let id = json!({ "Name": "Message-ID", "Value": format!("<{id}@example.com>") });
            plain["Headers"] = json!([id]);
            plain["From"] = json!("Example Accounts <no-reply@example.com>");
            (plain, post)
        }
        _ => (Value::Null, post),
    };
    let id = match provider {
        "agentmail" => object["message_id"].as_str().unwrap().to_owned(),
        _ => id.to_owned(),
    };
    let at = now();
    let mail = Mail {
        id,
        recipient,
        raw,
        object,
        at,
    };
    ProviderMail { mail, post }
}

/// Posts until the post is accepted, as a provider does.
pub(crate) async fn push(harness: &Harness, provider: &str, mail: &ProviderMail) {
    let post = mail.post.as_ref().unwrap();
    for _ in 0..100 {
        let Ok(mut url) = harness.deployment.url(Role::Webhook, 0) else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        url.set_path(&format!("hooks/{provider}"));
        url.set_query(post.query.as_deref());
        let posted = harness.client.send(url, &post.headers, &post.body).await;
        if posted.is_ok_and(|answer| answer.status == 200) {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("{provider} could not post");
}

/// Mail arrives at every provider while it is polled. A third of it is also posted to the
/// webhook. All processes are killed twice meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn polling_finds_mail_that_webhooks_missed_without_duplicates() {
    let api = ProviderApi::start();
    let providers = [&POSTING[..], &["http-list"]].concat();
    let sources: String = providers.iter().map(|one| source(&api, one, 1)).collect();
    let signers = signers(&sources);
    let mut harness = Harness::embedded_with(&format!("{BRISK}{sources}")).await;
    let count = mails();
    for n in 0..count {
        for (which, provider) in providers.iter().enumerate() {
            let id = format!("{provider}-{n}");
            let mail = provider_mail(&signers, provider, &id, &code(which, n));
            api.arrive(provider, mail.mail.clone());
            if n % 3 == 0 && mail.post.is_some() {
                push(&harness, provider, &mail).await;
            }
        }
        if n == count / 3 || n == 2 * count / 3 {
            harness.deployment.kill(Role::Poll).await.unwrap();
            harness.deployment.revive().await.unwrap();
        }
    }
    let all = i64::try_from(count * providers.len()).unwrap();
    for provider in &providers {
        let inbox = format!("{provider}@inbox.test");
        let items = harness.until_items(&inbox, count).await;
        assert_eq!(items.len(), count, "{provider}");
    }
    harness
        .until_count("SELECT count(*) FROM deliveries WHERE state <> 'done'", 0)
        .await;
    // Every list is read once more to its end and contains nothing new.
    let rows = harness.count("SELECT count(*) FROM deliveries").await;
    let lists = api.lists() + 3 * providers.len();
    until("every list is read again", async || {
        (api.lists() >= lists).then_some(())
    })
    .await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, rows);
    assert_eq!(harness.count("SELECT count(*) FROM messages").await, all);
    assert_eq!(harness.count("SELECT count(*) FROM artifacts").await, all);
    let by_both = "SELECT count(*) FROM messages WHERE other_path_at IS NOT NULL";
    assert!(harness.count(by_both).await > 0);
    harness.end().await;
    api.stop().await;
}

/// An unreachable source, one with another API and one that refuses the key are reported,
/// and do not block the working one.
#[tokio::test(flavor = "multi_thread")]
async fn failing_sources_are_reported_and_block_no_others() {
    let api = ProviderApi::start();
    let good = source(&api, "postmark", 1);
    let dead = source(&api, "resend", 1).replace(&api.url("resend"), "http://127.0.0.1:1");
    let odd = source(&api, "nylas", 1).replace(&api.url("nylas"), &api.url("http-list"));
    let shut = source(&api, "agentmail", 1).replace("the-api-key", "a-wrong-key");
    let settings = format!("{BRISK}{good}{dead}{odd}{shut}");
    let harness = Harness::embedded_with(&settings).await;
    let mail = provider_mail(&signers(&good), "postmark", "postmark-1", "493817");
    api.arrive("postmark", mail.mail);
    harness.until_items("postmark@inbox.test", 1).await;
    harness
        .until_count("SELECT count(*) FROM polls WHERE failure IS NOT NULL", 3)
        .await;
    let metrics = harness.metrics(Role::Poll).await;
    for expected in [
        "maillatch_poll_failing{source=\"resend\"} 1",
        "maillatch_poll_failing{source=\"postmark\"} 0",
        "outcome=\"poll_unauthorised\"",
        "maillatch_poll_recovered_total{source=\"postmark\"} 1",
    ] {
        assert!(metrics.contains(expected), "{expected} is not in {metrics}");
    }
    let doctor = harness.doctor().await;
    assert!(doctor.contains("poll_away"), "{doctor}");
    assert!(!harness.deployment.logs().unwrap().contains("the-api-key"));
    harness.end().await;
    api.stop().await;
}
