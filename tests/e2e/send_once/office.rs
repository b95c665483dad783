//! A deployment with a sender, and the fake provider that it sends by.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use testkit::mail_provider::MailProvider;
use tokio::time::{Instant, sleep};

use crate::harness::{Harness, Role, TIMEOUT};

/// Short times. A lease is the timeout and the margin: three seconds.
const FAST: &str = "send.lease_margin = \"1s\"\nsend.per_day = 1000000\n\
    feed.attempts_per_minute = 1000000\n\
    send.settle_first = \"100ms\"\nsend.settle_ceiling = \"200ms\"\n\
    templates.shipped.subject = \"Order {{order}}\"\n\
    templates.shipped.text = \"Order {{order}} is {{state}}.\\n\"\n\
    templates.shipped.values.order.type = \"id\"\n\
    templates.shipped.values.state = { type = \"choice\", choices = [\"paid\", \"sent\"] }\n";

/// How long a provider's answer may take, unless a test says something else.
const HASTY: &str = "send.timeout = \"2s\"\nsend.smtp_timeout = \"2s\"\n";

/// Time enough to have one send of every sender on the wire at the same moment.
pub(super) const PATIENT: &str = "send.timeout = \"6s\"\n";

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
pub(super) fn request(sender: &str, order: &str, state: &str) -> Value {
    json!({
        "sender": sender,
        "intent": {"type": "order.shipped", "entity": order, "version": 1},
        "to": "user@example.com",
        "template": "shipped",
        "values": {"order": order, "state": state},
    })
}

/// A deployment that sends mail. Every sender has the name of its provider.
pub(super) struct Office {
    pub(super) harness: Harness,
    pub(super) senders: Vec<Desk>,
    pub(super) tokens: Vec<String>,
    http: Client,
}

/// A sender, and the fake provider that it sends by.
pub(super) struct Desk {
    pub(super) name: String,
    pub(super) provider: MailProvider,
}

impl Desk {
    /// How many mails the provider accepted.
    pub(super) fn accepted(&self) -> usize {
        self.provider.accepted().len()
    }

    /// Checks that the provider accepted no mail twice.
    pub(super) fn expect_each_at_most_once(&self) {
        let accepted = self.provider.accepted();
        let keys: BTreeSet<&String> = accepted.iter().map(|mail| &mail.key).collect();
        let name = &self.name;
        assert_eq!(keys.len(), accepted.len(), "{name}: accepted twice");
    }

    /// Checks that every request with the same key had the same bytes.
    pub(super) fn same_bytes(&self) {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for (key, body) in self.provider.bodies() {
            let known = first.entry(key).or_insert_with(|| body.clone());
            let name = &self.name;
            assert_eq!(*known, body, "{name}: a repetition had other bytes");
        }
    }
}

impl Office {
    /// A deployment with one sender, which uses this provider.
    pub(super) async fn open(profile: Profile, provider: &str) -> Self {
        Self::open_with(profile, &[provider], "").await
    }

    /// A deployment with a sender for each of these providers, and additional settings.
    pub(super) async fn open_with(profile: Profile, providers: &[&str], extra: &str) -> Self {
        let mut senders = Vec::new();
        for name in providers {
            let provider = MailProvider::start().await;
            let keys = match *name {
                "ses" => "region = \"eu-west-1\", access_key = \"AK\", secret_key = \"SK\"",
                "nylas" => "api_key = \"key\", grant = \"grant-1\"",
                _ => "api_key = \"key\"",
            };
            let url = &provider.url;
            let settings = format!("provider = \"{name}\", api_url = \"{url}\", {keys}");
            let name = (*name).to_owned();
            senders.push((Desk { name, provider }, settings));
        }
        Self::start(profile, senders, extra).await
    }

    /// A deployment whose sender uses an SMTP server.
    pub(super) async fn open_smtp(profile: Profile, port: u16) -> Self {
        Self::start_smtp(profile, smtp(port), "").await
    }

    /// The same, and what is uncertain is sent once more.
    pub(super) async fn open_retrying_smtp(profile: Profile, port: u16) -> Self {
        let settings = format!("{}, on_uncertain = \"retry\"", smtp(port));
        Self::start_smtp(profile, settings, "send.retry_after = \"1s\"\n").await
    }

    async fn start_smtp(profile: Profile, settings: String, extra: &str) -> Self {
        let provider = MailProvider::start().await;
        let name = "smtp".to_owned();
        Self::start(profile, vec![(Desk { name, provider }, settings)], extra).await
    }

    async fn start(profile: Profile, senders: Vec<(Desk, String)>, extra: &str) -> Self {
        let tokens: Vec<String> = (0..KEYS).map(|_| feed::Keys::mint()).collect();
        let mut settings = format!("{FAST}{extra}");
        for (setting, usual) in [("send.every", OFTEN), ("send.timeout", HASTY)] {
            if !extra.contains(setting) {
                settings.push_str(usual);
            }
        }
        for (Desk { name, .. }, sender) in &senders {
            let sender = format!(
                "senders.{name} = {{ {sender}, from = \"Shop <{name}@mail.example.com>\", \
                 recipients = [\"@example.com\"] }}\n"
            );
            settings.push_str(&sender);
        }
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
            senders: senders.into_iter().map(|(desk, _)| desk).collect(),
            tokens,
            http: http.unwrap(),
        }
    }

    /// The provider of the first sender.
    pub(super) fn provider(&self) -> &MailProvider {
        &self.senders[0].provider
    }

    /// How many senders there are, as a count of rows.
    pub(super) fn all(&self) -> i64 {
        i64::try_from(self.senders.len()).unwrap()
    }

    /// Asks a sender for the mail about an order with one of the keys; returns the status
    /// and the body. `None`: there was no answer.
    pub(super) async fn try_order(
        &self,
        sender: &Desk,
        which: usize,
        order: &str,
        state: &str,
    ) -> Option<(u16, Value)> {
        let url = self.harness.deployment.url(Role::Feed, which).ok()?;
        let request = self
            .http
            .post(url.join("v1/sends").ok()?)
            .bearer_auth(&self.tokens[which % KEYS])
            .json(&request(&sender.name, order, state));
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().await.ok()?))
    }

    /// Asks the first sender for the mail about an order; returns its id.
    pub(super) async fn order(&self, order: &str) -> String {
        self.order_by(&self.senders[0], order, "paid").await
    }

    /// Asks every sender for the mail about an order of its own; returns their ids.
    pub(super) async fn order_by_all(&self, order: &str, state: &str) -> Vec<String> {
        let mut ids = Vec::new();
        for sender in &self.senders {
            let order = format!("{order}-{}", sender.name);
            ids.push(self.order_by(sender, &order, state).await);
        }
        ids
    }

    /// Asks until the order is accepted, as an agent does: on a busy machine the store may
    /// be too slow for an answer.
    async fn order_by(&self, sender: &Desk, order: &str, state: &str) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.try_order(sender, 0, order, state).await {
                Some((200 | 201, body)) => return body["id"].as_str().unwrap().to_owned(),
                None | Some((503, _)) => {}
                Some(other) => panic!("{order}: {other:?}"),
            }
            assert!(Instant::now() < deadline, "{order}: no answer");
            sleep(Duration::from_millis(50)).await;
        }
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

    /// How many mails the first provider accepted.
    pub(super) fn accepted(&self) -> usize {
        self.senders[0].accepted()
    }

    /// Checks that a count stays as it is while senders have time for many rounds.
    pub(super) async fn stays(&self, rows: &'static str) {
        let before = self.harness.count(rows).await;
        for _ in 0..20 {
            sleep(Duration::from_millis(100)).await;
            assert_eq!(self.harness.count(rows).await, before, "{rows}");
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
