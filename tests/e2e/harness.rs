//! A deployment under test, and the operations that the tests use.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
pub(crate) use maillatch::deployment::Role;
use maillatch::deployment::{Backing, Deployment};
use secrecy::ExposeSecret;
use serde_json::Value;
use testkit::database::migrated_database;
use testkit::server::shared_url;
use testkit::wait;
use tokio::time::{Instant, sleep};

use crate::client::{HttpAnswer, HttpClient};
use crate::database::Database;

/// How long a test waits for something that must happen.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

/// Settings that make tests short; everything else is the default.
const FAST: &str = "worker.lease = \"3s\"\nworker.sweep_every = \"200ms\"\n\
                     worker.ring_patience = \"2s\"\n";

/// Those and the settings of a test.
fn settings(extra: &str) -> String {
    let filter = if extra.contains("log.filter") {
        ""
    } else {
        "log.filter = \"debug\"\n"
    };
    format!("{FAST}{filter}{extra}")
}

/// The binary under test.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_maillatch"))
}

pub(crate) struct Harness {
    pub(crate) deployment: Deployment,
    pub(crate) client: HttpClient,
    pub(crate) database: Database,
}

impl Harness {
    pub(crate) async fn embedded() -> Self {
        Self::embedded_with("").await
    }

    /// The same with additional settings.
    pub(crate) async fn embedded_with(extra: &str) -> Self {
        let settings = settings(extra);
        let deployment = Deployment::launch(binary(), Backing::Embedded, &settings)
            .await
            .unwrap();
        let file = deployment
            .config()
            .with_file_name("data")
            .join("maillatch.db");
        let database = Database::Sqlite(format!("sqlite:{}", file.display()));
        Self::over(deployment, database)
    }

    /// One process with its data in this directory.
    pub(crate) async fn embedded_in(directory: &Path) -> Self {
        let backing = Backing::EmbeddedIn(directory.to_owned());
        let deployment = Deployment::launch(binary(), backing, &settings(""))
            .await
            .unwrap();
        let file = directory.join("maillatch.db");
        let database = Database::Sqlite(format!("sqlite:{}", file.display()));
        Self::over(deployment, database)
    }

    /// Two processes of each role on a new database.
    pub(crate) async fn full() -> Self {
        Self::full_with("").await
    }

    /// The same with additional settings.
    pub(crate) async fn full_with(extra: &str) -> Self {
        let url = new_database().await;
        let amqp = shared_url("TEST_AMQP_URL");
        Self::on([url.as_str(), &amqp], true, extra).await
    }

    /// The same with a broker of the test.
    pub(crate) async fn full_with_broker(amqp_url: &str) -> Self {
        let url = new_database().await;
        Self::on([url.as_str(), amqp_url], true, "").await
    }

    /// The same behind a pooler of the shared database server.
    pub(crate) async fn full_behind(pooler: &str) -> Self {
        let direct = new_database().await;
        let mut pooler = url::Url::parse(pooler).unwrap();
        pooler.set_path(direct.path());
        let extra = format!("database.direct_url = \"{direct}\"\n");
        let amqp = shared_url("TEST_AMQP_URL");
        let behind = Self::on([pooler.as_str(), &amqp], true, &extra).await;
        let url = direct.to_string();
        Self {
            database: Database::Postgres { url, scratch: true },
            ..behind
        }
    }

    /// Two processes of each role on servers that the test may stop.
    pub(crate) async fn on_servers(database_url: &str, amqp_url: &str) -> Self {
        Self::on([database_url, amqp_url], false, "").await
    }

    async fn on([database_url, amqp_url]: [&str; 2], scratch: bool, extra: &str) -> Self {
        let settings = settings(extra);
        let backing = Backing::Full {
            database_url: database_url.to_owned(),
            is_migrated: scratch,
            amqp_url: amqp_url.to_owned(),
        };
        let deployment = Deployment::launch(binary(), backing, &settings)
            .await
            .unwrap();
        let url = database_url.to_owned();
        Self::over(deployment, Database::Postgres { url, scratch })
    }

    fn over(deployment: Deployment, database: Database) -> Self {
        Self {
            deployment,
            client: HttpClient::new().unwrap(),
            database,
        }
    }

    /// Stops every process cleanly and drops the database.
    pub(crate) async fn end(mut self) {
        self.deployment.stop().await.unwrap();
        self.database.remove().await;
    }

    /// Posts a correctly signed body to one of the webhooks.
    pub(crate) async fn post(&self, which: usize, id: &str, body: &[u8]) -> HttpAnswer {
        self.try_post(which, id, body).await.unwrap()
    }

    /// Posts again after each 503, as a provider does: on a busy machine a commit may
    /// take longer than the server's time for it.
    pub(crate) async fn post_until_accepted(
        &self,
        which: usize,
        id: &str,
        body: &[u8],
    ) -> HttpAnswer {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let answer = self.post(which, id, body).await;
            if answer.status != 503 {
                return answer;
            }
            assert!(Instant::now() < deadline, "{answer:?}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn try_post(
        &self,
        which: usize,
        id: &str,
        body: &[u8],
    ) -> anyhow::Result<HttpAnswer> {
        self.client.post(&self.deployment, which, id, body).await
    }

    /// The items of an inbox, listed as an agent does.
    pub(crate) async fn items(&self, which: usize, inbox: &str) -> Vec<Value> {
        self.client
            .items(&self.deployment, which, inbox)
            .await
            .unwrap()
    }

    /// Waits until an inbox has `count` items. Otherwise fails and says how far mail came.
    pub(crate) async fn until_items(&self, inbox: &str, count: usize) -> Vec<Value> {
        let items = self
            .client
            .until_items(&self.deployment, inbox, count, TIMEOUT);
        match items.await {
            Ok(items) => items,
            Err(error) => panic!("{error}; {}", self.database.reader().await.progress().await),
        }
    }

    /// Consumes as one of the two consumers.
    pub(crate) async fn consume(&self, artifact: &str, consumer: usize, key: &str) -> HttpAnswer {
        let to = &self.deployment;
        let answer = self.client.consume(to, consumer, artifact, key).await;
        answer.unwrap()
    }

    /// Posts an object to a path of the feed; returns the status and the body. Posts again
    /// after each 503 under the same idempotency key, as a client does.
    pub(crate) async fn post_json(&self, path: &str, key: &str, object: &Value) -> (u16, Value) {
        wait::until(path, async || {
            let answer = self.client.call(&self.deployment, path, key, object).await;
            let answer = answer.unwrap();
            let status = answer.status.as_u16();
            (status != 503).then_some((status, answer.body))
        })
        .await
    }

    /// What an agent needs: the server's address and a key.
    pub(crate) fn agent(&self) -> (String, String) {
        let url = self.deployment.url(Role::Feed, 0).unwrap().to_string();
        let key = self.deployment.key(0).expose_secret().to_owned();
        (url, key)
    }

    /// Gets a path of the first process of a role.
    pub(crate) async fn get(&self, role: Role, path: &str) -> HttpAnswer {
        self.client
            .get(&self.deployment, role, 0, path)
            .await
            .unwrap()
    }

    /// Gets a path of the operators' listener of the first process of a role.
    pub(crate) async fn ops(&self, role: Role, path: &str) -> HttpAnswer {
        let url = self.deployment.ops_url(role).unwrap().join(path).unwrap();
        self.client.get_url(url).await.unwrap()
    }

    /// Ends every process with SIGKILL.
    pub(crate) async fn kill_all(&mut self) {
        for role in [Role::Webhook, Role::Worker, Role::Feed] {
            self.deployment.kill(role).await.unwrap();
        }
    }

    /// The result of a counting query.
    pub(crate) async fn count(&self, rows: &'static str) -> i64 {
        self.database.reader().await.count(rows).await
    }

    /// Waits until the count is `wanted`.
    pub(crate) async fn until_count(&self, rows: &'static str, wanted: i64) {
        self.until(rows, &format!("not {wanted}"), |count| count == wanted)
            .await;
    }

    /// Waits until the count is at least `wanted`.
    pub(crate) async fn until_at_least(&self, rows: &'static str, wanted: i64) {
        self.until(rows, &format!("below {wanted}"), |count| count >= wanted)
            .await;
    }

    async fn until(&self, rows: &'static str, otherwise: &str, fits: impl Fn(i64) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        // One connection for the whole wait: a new one costs the server a process.
        let mut reader = self.database.reader().await;
        loop {
            let count = reader.count(rows).await;
            if fits(count) {
                return;
            }
            assert!(Instant::now() < deadline, "{rows}: {count}, {otherwise}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// The metrics of the first process of a role.
    pub(crate) async fn metrics(&self, role: Role) -> String {
        let answer = self.ops(role, "metrics").await;
        answer.body.as_str().unwrap().to_owned()
    }

    /// The metrics of every process of a role.
    pub(crate) async fn all_metrics(&self, role: Role) -> String {
        let mut all = String::new();
        for process in self.deployment.playing(role) {
            let url = process.ops_url().unwrap().join("metrics").unwrap();
            let answer = self.client.get_url(url).await.unwrap();
            all.push_str(answer.body.as_str().unwrap());
        }
        all
    }

    /// The output of `doctor`.
    pub(crate) async fn doctor(&self) -> String {
        let mut command = self.command(&["doctor"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        String::from_utf8(output.await.unwrap().stdout).unwrap()
    }

    /// Runs a command of the binary against this deployment's configuration.
    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(binary());
        command
            .args(args)
            .arg("--config")
            .arg(self.deployment.config());
        command
    }
}

/// A new database on the shared server, with every table.
async fn new_database() -> url::Url {
    let url = migrated_database(async |url: String| {
        let settings = store::Settings::new(url.into());
        store::migrate(&settings).await.unwrap();
    });
    url::Url::parse(&url.await).unwrap()
}

/// The native payload around a raw mail.
pub(crate) fn payload(inbox: &str, raw: &[u8]) -> Vec<u8> {
    let data = serde_json::json!({ "recipients": [inbox], "raw": STANDARD.encode(raw) });
    let event = serde_json::json!({ "type": "email.received", "data": data });
    event.to_string().into_bytes()
}

/// A mail with a code in it.
pub(crate) fn otp_mail(message_id: &str, code: &str) -> Vec<u8> {
    let text = format!(
        "From: Example Accounts <no-reply@example.com>\r\n\
         To: agent@inbox.test\r\n\
         Message-ID: <{message_id}@example.com>\r\n\
         Date: Sun, 15 Nov 2026 10:00:00 +0000\r\n\
         Subject: Your verification code\r\n\
         \r\n\
         Your verification code is {code}. It expires in 10 minutes.\r\n"
    );
    text.into_bytes()
}

/// A delivery with a code for `inbox`.
pub(crate) fn otp_delivery(inbox: &str, message_id: &str, code: &str) -> Vec<u8> {
    payload(inbox, &otp_mail(message_id, code))
}

/// A delivery with a verification link to a host outside the allowlist.
pub(crate) fn foreign_link_delivery(inbox: &str) -> Vec<u8> {
    let mail = b"From: no-reply@evil.test\r\nMessage-ID: <l@evil.test>\r\n\
        Subject: Verify your email\r\nContent-Type: text/html\r\n\r\n\
        <p>Confirm your address:</p>\
        <a href=\"https://evil.test/verify?token=abcdefghijklmnopqrstuvwxyz0123456789\">\
        Verify email</a>\r\n";
    payload(inbox, mail)
}

/// Makes a test on each profile from a function.
macro_rules! on_both_profiles {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(crate::harness::Harness::embedded().await).await;
            })*
        }

        mod full {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(crate::harness::Harness::full().await).await;
            })*
        }
    };
}

pub(crate) use on_both_profiles;
