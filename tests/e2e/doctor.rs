//! `doctor` is the acceptance test of a deployment: each fault fails it, by a line that
//! says what to do.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maillatch::deployment::Role;
use secrecy::ExposeSecret;
use serde_json::Value;
use testkit::mail_provider::MailProvider;
use testkit::proxy::Proxy;
use testkit::server::shared_url;
use testkit::smtp_server::{SmtpFault, SmtpServer};
use testkit::wait;

use crate::clock;
use crate::harness::{Harness, binary, on_both_profiles, otp_delivery};

on_both_profiles!(
    frozen_server_fails_doctor,
    sealing_key_that_does_not_open_the_newest_rows_fails_doctor,
    changed_server_secret_fails_doctor_until_it_is_accepted,
    unreachable_provider_api_fails_doctor,
    unreachable_or_refusing_sender_fails_doctor,
    uncertain_send_is_named_by_doctor,
    doctor_checks_a_server_from_outside,
);

/// A report of the doctor: its exit code and its lines.
struct Report {
    code: Option<i32>,
    checks: Vec<Value>,
}

impl Report {
    async fn of(mut command: Command) -> Self {
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let report: Result<Value, _> = serde_json::from_slice(&output.stdout);
        let report = report.unwrap_or_else(|error| panic!("{error}: {said}"));
        Self {
            code: output.status.code(),
            checks: report["checks"].as_array().unwrap().clone(),
        }
    }

    /// The detail of a line that failed.
    fn failure(&self, name: &str) -> &str {
        let found = self.checks.iter().find(|check| check["check"] == name);
        let check = found.unwrap_or_else(|| panic!("no {name}: {:?}", self.checks));
        assert_eq!(check["health"], "fail", "{check}");
        assert_eq!(self.code, Some(1), "{check}");
        check["detail"].as_str().unwrap()
    }

    fn is_healthy(&self) -> bool {
        self.code == Some(0)
    }
}

fn doctor(harness: &Harness) -> Command {
    harness.command(&["doctor", "--json"])
}

async fn sealing_key_that_does_not_open_the_newest_rows_fails_doctor(harness: Harness) {
    let body = otp_delivery("agent@inbox.test", "1", "493817");
    harness.post_until_accepted(0, "msg_1", &body).await;
    harness.until_items("agent@inbox.test", 1).await;
    let report = Report::of(doctor(&harness)).await;
    assert!(report.is_healthy(), "{:?}", report.checks);
    let mut command = doctor(&harness);
    let other = STANDARD.encode([9_u8; 32]);
    // Keys in the configuration and a file are refused together.
    command
        .env("MAILLATCH_SEAL__FILE", "")
        .env("MAILLATCH_SEAL__KEYS", format!("[\"{other}\"]"));
    let report = Report::of(command).await;
    let why = report.failure("sealed rows");
    assert!(why.contains("2 of the newest 2"), "{why}");
    assert!(why.contains("seal.file"), "{why}");
    harness.end().await;
}

async fn changed_server_secret_fails_doctor_until_it_is_accepted(harness: Harness) {
    let changed = |args: &[&str]| {
        let mut command = doctor(&harness);
        command
            .args(args)
            .env("MAILLATCH_SERVER__SECRET", "another".repeat(6));
        command
    };
    let report = Report::of(changed(&[])).await;
    let why = report.failure("server secret");
    assert!(why.contains("--accept-server-secret"), "{why}");
    let report = Report::of(changed(&["--accept-server-secret"])).await;
    assert!(report.is_healthy(), "{:?}", report.checks);
    let report = Report::of(changed(&[])).await;
    assert!(report.is_healthy(), "{:?}", report.checks);
    Report::of(doctor(&harness)).await.failure("server secret");
    harness.end().await;
}

async fn unreachable_provider_api_fails_doctor(harness: Harness) {
    let mut command = doctor(&harness);
    for (name, value) in [
        ("PROVIDER", "resend"),
        ("SECRETS", "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz"),
        ("API_KEY", "a-key-of-the-tests"),
        ("API_URL", "http://127.0.0.1:1"),
        ("DOMAINS", "shop.dev"),
    ] {
        let value = match name {
            "SECRETS" | "DOMAINS" => format!("[\"{value}\"]"),
            _ => value.to_owned(),
        };
        command.env(format!("MAILLATCH_SOURCE__SHOP__{name}"), value);
    }
    let report = Report::of(command).await;
    let why = report.failure("apis");
    for wanted in ["shop", "http://127.0.0.1:1", "api_url"] {
        assert!(why.contains(wanted), "{why}");
    }
    harness.end().await;
}

/// The doctor with a sender `shop` in addition.
async fn doctor_with_sender(harness: &Harness, sender: &str) -> Report {
    let file = harness.deployment.config();
    let settings = std::fs::read_to_string(&file).unwrap();
    let from = "from = \"shop@mail.example.com\"";
    let settings = format!("{settings}\nsenders.shop = {{ {from}, {sender} }}\n");
    let file = file.with_file_name("with-sender.toml");
    std::fs::write(&file, settings).unwrap();
    let mut command = Command::new(binary());
    command.args(["doctor", "--json", "--config"]).arg(file);
    Report::of(command).await
}

async fn unreachable_or_refusing_sender_fails_doctor(harness: Harness) {
    let resend =
        |url: &str| format!("provider = \"resend\", api_key = \"a-key\", api_url = \"{url}\"");
    let report = doctor_with_sender(&harness, &resend("http://127.0.0.1:1")).await;
    let why = report.failure("senders");
    for wanted in ["shop", "http://127.0.0.1:1", "senders.shop"] {
        assert!(why.contains(wanted), "{why}");
    }
    let api = MailProvider::start().await;
    let report = doctor_with_sender(&harness, &resend(&api.url)).await;
    assert!(report.is_healthy(), "{:?}", report.checks);
    assert_eq!(api.requests(), 0, "a request to send");

    let smtp = SmtpServer::start().await;
    let port = smtp.port.to_string();
    let sender = format!(
        "provider = \"smtp\", host = \"127.0.0.1\", port = {port}, tls = \"off\", \
         username = \"shop\", password = \"a-password\""
    );
    let report = doctor_with_sender(&harness, &sender).await;
    assert!(report.is_healthy(), "{:?}", report.checks);
    smtp.fail([SmtpFault::Login(535)]);
    let report = doctor_with_sender(&harness, &sender).await;
    let why = report.failure("senders");
    assert!(why.contains("password") && why.contains(&port), "{why}");
    assert!(smtp.accepted().is_empty());
    harness.end().await;
}

async fn uncertain_send_is_named_by_doctor(harness: Harness) {
    let (url, _) = harness.agent();
    let mut create = harness.command(&["api-key", "create", "g", "--scope", "guard"]);
    let made = tokio::task::spawn_blocking(move || create.output().unwrap());
    let token = String::from_utf8(made.await.unwrap().stdout).unwrap();
    let mut claim = Command::new(binary());
    claim
        .args(["guard", "claim", "shop", "--key", "k", "--lease", "1s"])
        .env("MAILLATCH_URL", url)
        .env("MAILLATCH_KEY", token.trim());
    let claimed = tokio::task::spawn_blocking(move || claim.output().unwrap());
    assert!(claimed.await.unwrap().status.success());
    let detail = wait::until("the end of the lease", async || {
        let report = Report::of(doctor(&harness)).await;
        let mut checks = report.checks.iter();
        let check = checks.find(|check| check["check"] == "sends").unwrap();
        (check["health"] == "warn").then(|| check["detail"].to_string())
    })
    .await;
    for wanted in ["1 uncertain", "maillatch sends list"] {
        assert!(detail.contains(wanted), "{detail}");
    }
    harness.end().await;
}

async fn doctor_checks_a_server_from_outside(harness: Harness) {
    let url = harness.deployment.url(Role::Feed, 0).unwrap().to_string();
    let remote = |url: &str, key: &str| {
        let mut command = Command::new(binary());
        command
            .args(["doctor", "--json", "--url", url])
            .env("MAILLATCH_KEY", key);
        command
    };
    let key = harness.deployment.key(0);
    let report = Report::of(remote(&url, key.expose_secret())).await;
    assert!(report.is_healthy(), "{:?}", report.checks);
    let wrong = feed::Keys::mint();
    let report = Report::of(remote(&url, &wrong)).await;
    let why = report.failure("key");
    assert!(
        why.contains("MAILLATCH_KEY") && why.contains("api-key create"),
        "{why}"
    );
    let mut late = remote(&url, key.expose_secret());
    clock::shift(&mut late, -600);
    let report = Report::of(late).await;
    let why = report.failure("clock");
    assert!(why.contains("behind") && why.contains("NTP"), "{why}");
    let report = Report::of(remote("http://127.0.0.1:1", key.expose_secret())).await;
    let why = report.failure("server");
    assert!(
        why.contains("127.0.0.1:1") && why.contains("check the URL"),
        "{why}"
    );
    harness.end().await;
}

/// The doctor for a process that listens on other addresses than the configuration says.
fn doctor_at(harness: &Harness, role: Role) -> Command {
    let address = |url: url::Url| format!("127.0.0.1:{}", url.port().unwrap());
    let listen = harness.deployment.url(role, 0).unwrap();
    let ops = harness.deployment.ops_url(role).unwrap();
    let mut command = doctor(harness);
    command
        .env("MAILLATCH_SERVER__LISTEN", address(listen))
        .env("MAILLATCH_SERVER__OPS_LISTEN", address(ops));
    command
}

fn remote_doctor(url: &str) -> Command {
    let mut command = Command::new(binary());
    command.args(["doctor", "--json", "--url", url]);
    command
}

/// A janitor that cannot delete anything is named by the doctor on the machine, with what
/// to do, and the failing part is named from outside.
async fn janitor_that_deletes_nothing_fails_doctor(harness: Harness) {
    let worker = harness.deployment.url(Role::Worker, 0).unwrap();
    let lock = harness.database.lock_consumes().await;
    let deadline = tokio::time::Instant::now() + crate::harness::TIMEOUT;
    loop {
        let ready = harness.ops(Role::Worker, "readyz").await;
        if ready.body["checks"]["tasks"] != "ok" {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{ready:?}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let report = Report::of(doctor_at(&harness, Role::Worker)).await;
    let why = report.failure("server");
    for wanted in ["janitor has finished nothing for", "restart it", "log"] {
        assert!(why.contains(wanted), "{why}");
    }
    let report = Report::of(remote_doctor(worker.as_str())).await;
    let why = report.failure("ready");
    assert!(why.contains("tasks: failing"), "{why}");
    assert!(!why.contains("janitor"), "strangers see no details: {why}");
    let ops = harness.deployment.ops_url(Role::Worker).unwrap();
    let report = Report::of(remote_doctor(ops.as_str())).await;
    let why = report.failure("ready");
    assert!(why.contains("janitor has finished nothing"), "{why}");
    let metrics = harness.metrics(Role::Worker).await;
    let late = "maillatch_task_late{task=\"janitor\"} 1";
    assert!(metrics.contains(late), "{metrics}");
    lock.release().await;
    harness.end().await;
}

const IMPATIENT: &str = "retention.every = \"1s\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn janitor_that_deletes_nothing_fails_doctor_on_the_embedded_profile() {
    janitor_that_deletes_nothing_fails_doctor(Harness::embedded_with(IMPATIENT).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn janitor_that_deletes_nothing_fails_doctor_on_the_full_profile() {
    janitor_that_deletes_nothing_fails_doctor(Harness::full_with(IMPATIENT).await).await;
}

/// A process that accepts connections and does nothing looks alive to the system.
async fn frozen_server_fails_doctor(harness: Harness) {
    let processes = harness.deployment.playing(Role::Worker);
    let pid = processes.map(|one| one.pid().unwrap()).next().unwrap();
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        let sent = kill.args([name, &pid.to_string()]).status().unwrap();
        assert!(sent.success());
    };
    let command = doctor_at(&harness, Role::Worker);
    signal("-STOP");
    let report = Report::of(command).await;
    signal("-CONT");
    let why = report.failure("server");
    assert!(why.contains("does not answer"), "{why}");
    assert!(why.contains("restart it"), "{why}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clock_that_differs_from_the_databases_fails_doctor() {
    let harness = Harness::full().await;
    let mut command = doctor(&harness);
    clock::shift(&mut command, 120);
    let report = Report::of(command).await;
    let why = report.failure("clock");
    assert!(why.contains("ahead of") && why.contains("NTP"), "{why}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_that_accepts_and_says_nothing_fails_doctor() {
    let harness = Harness::full().await;
    let (proxy, silent) = proxied_broker().await;
    proxy.freeze();
    let mut command = doctor(&harness);
    command.env("MAILLATCH_QUEUE__URL", silent.as_str());
    let report = Report::of(command).await;
    let why = report.failure("queue");
    assert!(why.contains("queue.url"), "{why}");
    harness.end().await;
}

/// A process serves before it is connected to its broker, so the doctor may come first.
#[tokio::test(flavor = "multi_thread")]
async fn broker_that_comes_late_does_not_fail_doctor() {
    let (proxy, broker) = proxied_broker().await;
    proxy.cut();
    let harness = Harness::full_with_broker(broker.as_str()).await;
    let url = harness.deployment.url(Role::Feed, 0).unwrap();
    let mut command = remote_doctor(url.as_str());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let report = tokio::task::spawn_blocking(move || {
        let mut doctor = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(doctor.stderr.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        assert!(said.contains("its queue does not work"), "{said}");
        proxy.heal();
        (doctor.wait_with_output().unwrap(), proxy)
    });
    let (output, _proxy) = report.await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    harness.end().await;
}

/// A proxy in front of the shared broker, and the broker's URL by way of it.
async fn proxied_broker() -> (Proxy, url::Url) {
    let mut amqp = url::Url::parse(&shared_url("TEST_AMQP_URL")).unwrap();
    let server = amqp.socket_addrs(|| Some(5672)).unwrap()[0];
    let proxy = Proxy::to(&server.to_string()).await;
    amqp.set_port(Some(proxy.address().port())).unwrap();
    amqp.set_host(Some("127.0.0.1")).unwrap();
    (proxy, amqp)
}
