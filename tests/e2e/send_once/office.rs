//! A deployment with a sender, and the fake provider that it sends by.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use testkit::mail_provider::MailProvider;
use tokio::time::sleep;

use crate::harness::{Harness, Role};

/// Short times. A lease is the timeout and the margin: three seconds.
const FAST: &str = "send.timeout = \"2s\"\nsend.smtp_timeout = \"2s\"\n\
    send.lease_margin = \"1s\"\nsend.per_day = 1000000\n\
    feed.attempts_per_minute = 1000000\n\
    send.settle_first = \"100ms\"\nsend.settle_ceiling = \"200ms\"\n\
    templates.shipped.subject = \"Order {{order}}\"\n\
    templates.shipped.text = \"Order {{order}} is {{state}}.\\n\"\n\
    templates.shipped.values.order.type = \"id\"\n\
    templates.shipped.values.state = { type = \"choice\", choices = [\"paid\", \"sent\"] }\n";

/// How often the database is looked at, unless a test says something else.
const OFTEN: &str = "send.every = \"50ms\"\n";

/// How many API keys may send.
pub(super) const KEYS: usize = 3;

/// All sends in a state.
pub(super) const UNCERTAIN: &str = "SELECT count(*) FROM sends WHERE state = 'uncertain'";
pub(super) const SENT: &str = "SELECT count(*) FROM sends WHERE state = 'sent'";
pub(super) const READY: &str = "SELECT count(*) FROM sends WHERE state = 'ready'";
pub(super) const CLAIMED: &str = "SELECT count(*) FROM sends WHERE state = 'claimed'";
pub(super) const DISPATCHED: &str = "SELECT count(*) FROM sends WHERE state = 'dispatched'";
pub(super) const FAILED: &str = "SELECT count(*) FROM sends WHERE state = 'failed'";
pub(super) const ALL: &str = "SELECT count(*) FROM sends";

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    Embedded,
    Full,
}

/// The settings of a sender that uses an SMTP server on this machine.
fn smtp(port: u16) -> String {
    format!("provider = \"smtp\", host = \"127.0.0.1\", port = {port}, tls = \"off\"")
}

/// The request for the mail about an order. The intent is the same in other words, too.
pub(super) fn request(order: &str, state: &str) -> Value {
    json!({
        "sender": "shop",
        "intent": {"type": "order.shipped", "entity": order, "version": 1},
        "to": "user@example.com",
        "template": "shipped",
        "values": {"order": order, "state": state},
    })
}

/// A deployment that sends mail.
pub(super) struct Office {
    pub(super) harness: Harness,
    pub(super) provider: MailProvider,
    pub(super) tokens: Vec<String>,
    http: Client,
}

impl Office {
    /// A deployment whose sender `shop` uses this provider.
    pub(super) async fn open(profile: Profile, provider: &str) -> Self {
        Self::open_with(profile, provider, "").await
    }

    /// The same with additional settings.
    pub(super) async fn open_with(profile: Profile, provider: &str, extra: &str) -> Self {
        let fake = MailProvider::start().await;
        let keys = match provider {
            "ses" => "region = \"eu-west-1\", access_key = \"AK\", secret_key = \"SK\"",
            "nylas" => "api_key = \"key\", grant = \"grant-1\"",
            _ => "api_key = \"key\"",
        };
        let url = &fake.url;
        let sender = format!("provider = \"{provider}\", api_url = \"{url}\", {keys}");
        Self::start(profile, fake, &sender, extra).await
    }

    /// A deployment whose sender uses an SMTP server.
    pub(super) async fn open_smtp(profile: Profile, port: u16) -> Self {
        let sender = smtp(port);
        Self::start(profile, MailProvider::start().await, &sender, "").await
    }

    /// The same, and what is uncertain is sent once more.
    pub(super) async fn open_retrying_smtp(profile: Profile, port: u16) -> Self {
        let sender = format!("{}, on_uncertain = \"retry\"", smtp(port));
        let extra = "send.retry_after = \"1s\"\n";
        Self::start(profile, MailProvider::start().await, &sender, extra).await
    }

    async fn start(profile: Profile, provider: MailProvider, sender: &str, extra: &str) -> Self {
        let tokens: Vec<String> = (0..KEYS).map(|_| feed::Keys::mint()).collect();
        let often = if extra.contains("send.every") {
            ""
        } else {
            OFTEN
        };
        let mut settings = format!(
            "{FAST}{often}{extra}\
             senders.shop = {{ {sender}, from = \"Shop <shop@mail.example.com>\", \
             recipients = [\"@example.com\"] }}\n"
        );
        for (number, token) in tokens.iter().enumerate() {
            let scopes = "inboxes = [], scopes = [\"send\", \"operator\"]";
            let key = format!("key.mailer-{number} = {{ token = \"{token}\", {scopes} }}\n");
            settings.push_str(&key);
        }
        let harness = match profile {
            Profile::Embedded => Harness::embedded_with(&settings).await,
            Profile::Full => Harness::full_with(&settings).await,
        };
        let http = Client::builder().timeout(Duration::from_secs(20)).build();
        Self {
            harness,
            provider,
            tokens,
            http: http.unwrap(),
        }
    }

    /// Asks for the mail about an order with one of the keys; returns the status and the
    /// body. `None`: there was no answer.
    pub(super) async fn try_order(
        &self,
        which: usize,
        order: &str,
        state: &str,
    ) -> Option<(u16, Value)> {
        let url = self.harness.deployment.url(Role::Feed, which).ok()?;
        let request = self
            .http
            .post(url.join("v1/sends").ok()?)
            .bearer_auth(&self.tokens[which % KEYS])
            .json(&request(order, state));
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().await.ok()?))
    }

    /// Asks for the mail about an order, which must be accepted; returns its id.
    pub(super) async fn order(&self, order: &str) -> String {
        let (status, body) = self.try_order(0, order, "paid").await.unwrap();
        assert_eq!(status, 201, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    /// A send, as an agent sees it.
    pub(super) async fn show(&self, id: &str) -> Value {
        let url = self.harness.deployment.url(Role::Feed, 0).unwrap();
        let url = url.join(&format!("v1/sends/{id}")).unwrap();
        let answer = self.http.get(url).bearer_auth(&self.tokens[0]).send().await;
        answer.unwrap().json().await.unwrap()
    }

    /// The state of a send, as an agent sees it.
    pub(super) async fn state(&self, id: &str) -> String {
        let body = self.show(id).await;
        body["state"].as_str().unwrap_or("-").to_owned()
    }

    /// Kills what sends, with SIGKILL, and starts it again.
    pub(super) async fn kill_and_restart(&mut self) {
        self.harness.deployment.kill(Role::Worker).await.unwrap();
        self.harness.deployment.revive().await.unwrap();
    }

    /// How many mails the provider accepted.
    pub(super) fn accepted(&self) -> usize {
        self.provider.accepted().len()
    }

    /// Checks that a count stays as it is while senders have time for many rounds.
    pub(super) async fn stays(&self, rows: &'static str) {
        let before = self.harness.count(rows).await;
        for _ in 0..20 {
            sleep(Duration::from_millis(100)).await;
            assert_eq!(self.harness.count(rows).await, before, "{rows}");
        }
    }

    /// Checks that the provider accepted no mail twice.
    pub(super) fn expect_each_at_most_once(&self) {
        let accepted = self.provider.accepted();
        let keys: BTreeSet<&String> = accepted.iter().map(|mail| &mail.key).collect();
        assert_eq!(keys.len(), accepted.len(), "a mail was accepted twice");
    }

    /// Checks that every request with the same key had the same bytes.
    pub(super) fn same_bytes(&self) {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for (key, body) in self.provider.bodies() {
            let known = first.entry(key).or_insert_with(|| body.clone());
            assert_eq!(*known, body, "a repetition had other bytes");
        }
    }

    /// Signals every process that sends.
    pub(super) fn signal(&self, signal: &str) {
        for process in self.harness.deployment.playing(Role::Worker) {
            let Some(pid) = process.pid() else { continue };
            let mut kill = std::process::Command::new("kill");
            let done = kill.args([signal, &pid.to_string()]).status();
            assert!(done.unwrap().success());
        }
    }
}

/// Makes a test on each profile from a function that takes the profile.
macro_rules! on_each_database {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(crate::send_once::office::Profile::Embedded).await;
            })*
        }

        mod full {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(crate::send_once::office::Profile::Full).await;
            })*
        }
    };
}

pub(super) use on_each_database;
