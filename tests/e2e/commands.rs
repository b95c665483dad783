//! The command line: data on standard output, messages on standard error, and a distinct
//! exit code for each kind of failure.

use std::path::Path;
use std::process::{Command, Output};

use maillatch::deployment::Role;
use secrecy::ExposeSecret;
use serde_json::Value;
use testkit::server::shared_url;

use crate::harness::{
    Harness, binary, foreign_link_delivery, on_both_profiles, otp_delivery, payload,
};

on_both_profiles!(
    trigger_then_wait_prints_only_the_code,
    every_wait_failure_has_its_own_exit_code,
    consumes_are_listed_and_shown_without_values,
    failures_are_listed_shown_and_requeued,
    failures_show_takes_every_id,
    doctor_reports_a_healthy_deployment_as_healthy,
    bench_measures_acks_and_codes,
    bench_with_one_mail_in_flight_posts_each_after_the_code_before,
);

/// Runs a client command against one of the deployment's servers.
async fn client(harness: &Harness, role: Role, args: &[&str]) -> Output {
    let url = harness.deployment.url(role, 0).unwrap().to_string();
    let mut command = Command::new(binary());
    command
        .args(args)
        .env("MAILLATCH_URL", url)
        .env("MAILLATCH_KEY", harness.deployment.key(0).expose_secret())
        .env(
            "MAILLATCH_SIGNING_SECRET",
            harness.deployment.signing_secret().expose_secret(),
        );
    ended(command).await
}

async fn ended(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr))
    })
}

async fn trigger_then_wait_prints_only_the_code(harness: Harness) {
    for (mail, wanted) in [("otp", "code"), ("magic-link", "link")] {
        let to = format!("{wanted}@inbox.test");
        let sent = client(
            &harness,
            Role::Webhook,
            &["trigger", mail, "--to", &to, "--json"],
        )
        .await;
        assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
        let value = json(&sent)["value"].as_str().unwrap().to_owned();
        let got = client(&harness, Role::Feed, &["wait", wanted, "--to", &to]).await;
        assert_eq!(got.status.code(), Some(0), "{}", text(&got.stderr));
        assert_eq!(text(&got.stdout), format!("{value}\n"));
    }
    harness.end().await;
}

async fn every_wait_failure_has_its_own_exit_code(harness: Harness) {
    let wait = async |to: &str| {
        let args = ["wait", "code", "--to", to, "--timeout", "1s"];
        client(&harness, Role::Feed, &args).await
    };
    assert_eq!(wait("empty@inbox.test").await.status.code(), Some(3));

    let plain = b"From: a@example.com\r\nMessage-ID: <p@x>\r\nSubject: Hi\r\n\r\nSee you.\r\n";
    harness
        .post(0, "msg_plain", &payload("plain@inbox.test", plain))
        .await;
    harness.until_items("plain@inbox.test", 1).await;
    assert_eq!(wait("plain@inbox.test").await.status.code(), Some(4));

    harness
        .post(
            0,
            "msg_code",
            &otp_delivery("used@inbox.test", "1", "493817"),
        )
        .await;
    let items = harness.until_items("used@inbox.test", 1).await;
    harness
        .consume(items[0]["id"].as_str().unwrap(), 1, "k1")
        .await;
    assert_eq!(wait("used@inbox.test").await.status.code(), Some(6));

    harness
        .post(0, "msg_link", &foreign_link_delivery("foreign@inbox.test"))
        .await;
    harness.until_items("foreign@inbox.test", 1).await;
    let args = [
        "wait",
        "link",
        "--to",
        "foreign@inbox.test",
        "--timeout",
        "1s",
    ];
    let withheld = client(&harness, Role::Feed, &args).await;
    assert_eq!(
        withheld.status.code(),
        Some(5),
        "{}",
        text(&withheld.stderr)
    );

    let usage = client(&harness, Role::Feed, &["wait", "nonsense"]).await;
    assert_eq!(usage.status.code(), Some(2));

    let mut unknown = Command::new(binary());
    let url = harness.deployment.url(Role::Feed, 0).unwrap().to_string();
    unknown
        .args(["wait", "code", "--timeout", "1s"])
        .env("MAILLATCH_URL", url);
    unknown.env("MAILLATCH_KEY", format!("mlk_{}", "x".repeat(43)));
    assert_eq!(ended(unknown).await.status.code(), Some(7));

    let mut nobody = Command::new(binary());
    nobody
        .args(["wait", "code", "--timeout", "1s"])
        .env("MAILLATCH_URL", "http://127.0.0.1:1");
    nobody.env("MAILLATCH_KEY", format!("mlk_{}", "x".repeat(43)));
    assert_eq!(ended(nobody).await.status.code(), Some(8));
    harness.end().await;
}

async fn consumes_are_listed_and_shown_without_values(harness: Harness) {
    let delivery = otp_delivery("agent@inbox.test", "m1", "493817");
    harness.post(0, "msg_1", &delivery).await;
    let items = harness.until_items("agent@inbox.test", 1).await;
    let id = items[0]["id"].as_str().unwrap();
    let early = ended(harness.command(&["show", id])).await;
    assert_eq!(early.status.code(), Some(1));
    assert!(text(&early.stderr).contains("was not consumed"));
    assert_eq!(harness.consume(id, 0, "k1").await.status, 200);
    let listed = ended(harness.command(&["audit", "--json"])).await;
    let first = json(&listed)["items"][0].clone();
    assert_eq!(first["artifact"], id);
    assert_eq!(first["kind"], "code");
    assert_eq!(first["inbox"], "agent@inbox.test");
    let shown = ended(harness.command(&["show", id])).await;
    let consumer = first["consumer"].as_str().unwrap();
    assert!(text(&shown.stdout).contains(&format!("by {consumer}")));
    for output in [&listed, &shown] {
        assert!(!text(&output.stdout).contains("493817"));
    }
    harness.end().await;
}

async fn failures_are_listed_shown_and_requeued(harness: Harness) {
    let posted = harness.post(0, "msg_bad", b"not json at all").await;
    let id = posted.body["delivery"].as_str().unwrap().to_owned();
    let buried = "SELECT count(*) FROM deliveries WHERE state = 'buried'";
    harness.until_count(buried, 1).await;
    let list = async || json(&ended(harness.command(&["failures", "list", "--json"])).await);
    let first = list().await["items"][0].clone();
    assert_eq!(first["id"], id.as_str());
    let show = ended(harness.command(&["failures", "show", &id])).await;
    assert!(
        text(&show.stdout).contains("payload_malformed"),
        "{}",
        text(&show.stdout)
    );
    let body = ended(harness.command(&["failures", "show", &id, "--body"])).await;
    assert_eq!(body.stdout, b"not json at all");
    let requeued = ended(harness.command(&["failures", "requeue", &id, "--json"])).await;
    assert_eq!(json(&requeued)["requeued"][0], id.as_str());
    // Retried, failed and dead-lettered again, later than the first time.
    harness
        .until_count("SELECT count(*) FROM deliveries WHERE state = 'buried'", 1)
        .await;
    let again = list().await["items"][0].clone();
    assert_eq!(again["id"], first["id"]);
    assert_ne!(again["buried_at"], first["buried_at"]);
    let unknown = [
        "failures",
        "requeue",
        "dlv_00000000000000000000000000000000",
    ];
    assert_eq!(
        ended(harness.command(&unknown)).await.status.code(),
        Some(1)
    );
    harness.end().await;
}

async fn failures_show_takes_every_id(harness: Harness) {
    let attempt = harness
        .open(serde_json::json!({ "from": ["other.example"] }))
        .await;
    let inbox = attempt["inbox"].as_str().unwrap();
    let body = otp_delivery(inbox, "m1", "493817");
    let posted = harness.post_until_accepted(0, "msg_1", &body).await;
    harness.until_state(&attempt, "blocked").await;
    let item = harness.until_items(inbox, 1).await.remove(0);
    let delivery = posted.body["delivery"].as_str().unwrap();
    let show = async |id: &str| {
        let shown = ended(harness.command(&["failures", "show", id, "--json"])).await;
        assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
        json(&shown)
    };
    for id in [
        delivery,
        item["message"].as_str().unwrap(),
        item["id"].as_str().unwrap(),
    ] {
        let shown = show(id).await;
        assert_eq!(shown["id"], delivery, "{shown}");
        assert_eq!(shown["state"], "done", "{shown}");
    }
    let shown = show(attempt["id"].as_str().unwrap()).await;
    assert_eq!(shown["reason"], "sender_not_allowed", "{shown}");
    assert_eq!(shown["seen"], "example.com", "{shown}");
    let wrong = ended(harness.command(&["failures", "show", "key_0190"])).await;
    assert_ne!(wrong.status.code(), Some(0));
    assert!(
        text(&wrong.stderr).contains("`att_…` an attempt"),
        "{}",
        text(&wrong.stderr)
    );
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_to_an_unknown_inbox_is_shown_to_the_operator() {
    let harness = Harness::embedded_with("inbox.domains = [\"other.test\"]\n").await;
    let buried = "SELECT count(*) FROM deliveries WHERE state = 'buried'";
    for (number, recipient, reason) in [
        (1, "lost@inbox.test", "inbox_unknown"),
        (2, "lost@elsewhere.test", "not_the_sources_domain"),
    ] {
        let name = format!("msg_{number}");
        let lost = otp_delivery(recipient, &name, "493817");
        let posted = harness.post(0, &name, &lost).await;
        let id = posted.body["delivery"].as_str().unwrap().to_owned();
        harness.until_count(buried, number).await;
        let show = ended(harness.command(&["failures", "show", &id, "--json"])).await;
        let shown = json(&show);
        assert_eq!(shown["reason"], reason);
        assert_eq!(shown["recipients"][0], recipient);
        let show = ended(harness.command(&["failures", "show", &id])).await;
        assert!(text(&show.stdout).contains(recipient));
    }
    harness.end().await;
}

/// A web page can make its own name point to this server and then read its answers.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_answer_to_addresses_and_configured_names_only() {
    let harness = Harness::embedded_with("server.hosts = [\"mail.example.com\"]\n").await;
    let url = harness.deployment.ops_url(Role::Feed).unwrap();
    let client = reqwest::Client::new();
    for path in ["metrics", "readyz"] {
        for (host, status) in [
            ("127.0.0.1:8080", 200),
            ("localhost", 200),
            ("worker:8080", 200),
            ("[::1]:80", 200),
            ("mail.example.com:80", 200),
            ("rebound.evil.test", 421),
            ("mail.example.com.evil.test", 421),
        ] {
            let request = client.get(format!("{url}{path}")).header("Host", host);
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), status, "{path} as {host}");
        }
    }
    harness.end().await;
}

async fn doctor_reports_a_healthy_deployment_as_healthy(harness: Harness) {
    let doctor = ended(harness.command(&["doctor", "--json"])).await;
    let report = json(&doctor);
    assert_eq!(doctor.status.code(), Some(0), "{report}");
    let checks = report["checks"].as_array().unwrap();
    for wanted in [
        "configuration",
        "database",
        "queue",
        "sources",
        "keys",
        "clock",
    ] {
        let check = checks.iter().find(|check| check["check"] == wanted);
        assert_eq!(
            check.unwrap_or_else(|| panic!("no {wanted}"))["health"],
            "ok",
            "{report}"
        );
    }
    harness.end().await;
}

async fn demo(args: &[&str]) {
    let mut command = Command::new(binary());
    command.args(["demo", "--json"]).args(args);
    let output = ended(command).await;
    let transcript = json(&output);
    assert_eq!(output.status.code(), Some(0), "{transcript:#}");
    let steps = transcript["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 9);
    assert!(
        steps.iter().all(|step| step["ok"] == true),
        "{transcript:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_passes_on_the_embedded_profile() {
    demo(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_passes_on_postgres_and_rabbitmq() {
    let database = shared_url("TEST_DATABASE_URL");
    let amqp = shared_url("TEST_AMQP_URL");
    demo(&["--database-url", &database, "--amqp-url", &amqp]).await;
}

/// Runs the binary in its own directory, without the settings of this process.
fn in_dir(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(args).current_dir(dir);
    command
}

#[tokio::test]
async fn impossible_arguments_are_refused_with_an_explanation() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["worker"], "--database-url"),
        (
            &["webhook", "--database-url", "postgres://127.0.0.1:1/x"],
            "--amqp-url",
        ),
        (
            &["up", "--listen", "0.0.0.0:0"],
            "configure a source and a key",
        ),
        (&["up", "--listen", "nonsense"], "not an address"),
        (&["up", "--config", "missing.toml"], "missing.toml"),
        (&["migrate", "--database-url", "mysql://x"], "postgres://"),
        (&["failures", "list", "--data-dir", "nowhere"], "seal.keys"),
    ];
    for (args, sentence) in cases {
        let output = ended(in_dir(dir.path(), args)).await;
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains(sentence), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[tokio::test]
async fn unknown_setting_in_file_or_environment_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("maillatch.toml"),
        "[server]\nlistn = \"x\"\n",
    )
    .unwrap();
    let output = ended(in_dir(dir.path(), &["up"])).await;
    assert!(
        text(&output.stderr).contains("listn"),
        "{}",
        text(&output.stderr)
    );
    std::fs::remove_file(dir.path().join("maillatch.toml")).unwrap();
    let mut command = in_dir(dir.path(), &["up"]);
    command.env("MAILLATCH_WORKER__LEESE", "1s");
    assert!(text(&ended(command).await.stderr).contains("leese"));
}

#[tokio::test]
async fn s31_source_with_an_empty_secret_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let source = "[source.shop]\nprovider = \"standard-webhooks\"\nsecrets = [\"whsec_\"]\n";
    std::fs::write(dir.path().join("maillatch.toml"), source).unwrap();
    let output = ended(in_dir(dir.path(), &["up", "--listen", "127.0.0.1:0"])).await;
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("shop") && said.contains("bytes"), "{said}");
}

#[tokio::test]
async fn second_server_on_the_same_data_is_refused() {
    let harness = Harness::embedded().await;
    let second = ended(harness.command(&["up", "--listen", "127.0.0.1:0"])).await;
    assert_eq!(second.status.code(), Some(1));
    assert!(
        text(&second.stderr).contains("in use"),
        "{}",
        text(&second.stderr)
    );
    harness.end().await;
}

#[tokio::test]
async fn migrate_can_be_run_again_and_roles_refuse_an_unmigrated_database() {
    let mut url = url::Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
    url.set_path(&format!("e2e_{}", uuid::Uuid::now_v7().simple()));
    store::create_database(&url.as_str().into()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let amqp = shared_url("TEST_AMQP_URL");
    let mut early = in_dir(
        dir.path(),
        &[
            "worker",
            "--database-url",
            url.as_str(),
            "--amqp-url",
            &amqp,
        ],
    );
    early.env("MAILLATCH_SERVER__SECRET", "s".repeat(32));
    early.env("MAILLATCH_SEAL__KEYS", store::SealKey::mint());
    let early = ended(early).await;
    assert!(
        text(&early.stderr).contains("maillatch migrate"),
        "{}",
        text(&early.stderr)
    );
    let migrate = ["migrate", "--json", "--database-url", url.as_str()];
    let first = json(&ended(in_dir(dir.path(), &migrate)).await);
    assert!(!first["applied"].as_array().unwrap().is_empty());
    let second = json(&ended(in_dir(dir.path(), &migrate)).await);
    assert_eq!(second["applied"].as_array().unwrap().len(), 0);
    store::drop_database(&url.as_str().into()).await.unwrap();
}

#[tokio::test]
async fn completions_and_help_go_to_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["completions", "bash"][..],
        &["--help"],
        &["wait", "--help"],
        &["--version"],
    ] {
        let output = ended(in_dir(dir.path(), args)).await;
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("maillatch"), "{args:?}");
    }
}

#[tokio::test]
async fn the_old_names_of_api_key_and_seal_key_work_and_are_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let help = ended(in_dir(dir.path(), &["--help"])).await;
    let commands: Vec<&str> = text(&help.stdout)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for (old, new) in [("key", "api-key"), ("keys", "seal-key")] {
        assert!(commands.contains(&new) && !commands.contains(&old), "{old}");
        let [by_old, by_new] = [[old, "list"], [new, "list"]].map(|args| in_dir(dir.path(), &args));
        let [by_old, by_new] = [ended(by_old).await, ended(by_new).await];
        assert_eq!(by_old.status.code(), Some(1));
        assert_eq!(text(&by_old.stderr), text(&by_new.stderr));
    }
}

#[tokio::test]
async fn help_of_every_command_has_an_example_and_names_its_server_or_data() {
    let dir = tempfile::tempdir().unwrap();
    let groups: [(&str, &[&str], &str); 3] = [
        (
            "attempt",
            &["new", "show", "wait", "consume", "resend", "finish"],
            "--url",
        ),
        ("api-key", &["create", "list", "revoke"], "--data-dir"),
        ("seal-key", &["list", "rotate", "retire"], "--data-dir"),
    ];
    for (group, acts, option) in groups {
        for act in acts {
            let output = ended(in_dir(dir.path(), &[group, act, "--help"])).await;
            let help = text(&output.stdout);
            let example = format!("maillatch {group} {act}");
            assert!(help.contains("Example"), "{group} {act}: {help}");
            assert!(help.contains(&example), "{group} {act}: {help}");
            assert!(help.contains(option), "{group} {act}: {help}");
        }
    }
    let wait = ended(in_dir(dir.path(), &["wait", "--help"])).await;
    let help = text(&wait.stdout);
    assert!(
        help.contains("unhealthy") && help.contains("9 it arrived and expired"),
        "{help}"
    );
}

async fn bench_measures_acks_and_codes(harness: Harness) {
    let feed = harness.deployment.url(Role::Feed, 0).unwrap().to_string();
    let args = [
        "bench",
        "--mails",
        "40",
        "--connections",
        "4",
        "--copies",
        "2",
        "--feed-url",
        &feed,
        "--json",
    ];
    let measured = client(&harness, Role::Webhook, &args).await;
    let figures = json(&measured);
    assert_eq!(measured.status.code(), Some(0), "{figures}");
    assert_eq!(
        (&figures["acks"], &figures["mails"]),
        (&Value::from(80), &Value::from(40))
    );
    assert_eq!(figures["consumable"]["codes"], 40);
    assert!(figures["consumable"]["after_ack_ms"]["p50"].as_f64() > Some(0.0));
    assert_eq!(
        harness.count("SELECT count(*) FROM deliveries").await,
        40,
        "copies are duplicates"
    );
    harness.end().await;
}

async fn bench_with_one_mail_in_flight_posts_each_after_the_code_before(harness: Harness) {
    let feed = harness.deployment.url(Role::Feed, 0).unwrap().to_string();
    let args = ["bench", "--mails", "12", "--in-flight", "1", "--json"];
    let args = [&args[..], &["--feed-url", &feed]].concat();
    let measured = client(&harness, Role::Webhook, &args).await;
    let figures = json(&measured);
    assert_eq!(measured.status.code(), Some(0), "{figures}");
    assert_eq!(figures["consumable"]["codes"], 12);
    let at_once = "SELECT count(*) FROM (SELECT recorded_at, \
         lag(finished_at) OVER (ORDER BY recorded_at) AS earlier FROM deliveries) AS posted \
         WHERE earlier > recorded_at";
    assert_eq!(harness.count(at_once).await, 0);
    harness.end().await;
}

#[tokio::test]
async fn bench_refuses_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = in_dir(dir.path(), &["bench", "--url", "http://mail.example.com"]);
    command.env(
        "MAILLATCH_SIGNING_SECRET",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    );
    let refused = ended(command).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--allow-remote"));
}
