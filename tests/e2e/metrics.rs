//! Metrics by convention: labels are named by what they are, every metric has a help text in
//! plain words, and they are served on the operators' listener alone.

use std::collections::BTreeMap;

use serde_json::json;

use crate::harness::{Harness, Role, on_both_profiles, otp_delivery};

on_both_profiles!(
    metrics_follow_the_conventions,
    public_listener_shows_neither_metrics_nor_details,
);

/// Every label that a metric may have.
const LABELS: [&str; 16] = [
    "source", "kind", "layer", "callback", "outcome", "verdict", "way", "task", "cause", "reason",
    "route", "method", "status", "state", "version", "le",
];

/// Samples that must be there, up to their values.
const SAMPLES: [&str; 7] = [
    "maillatch_database_connections{state=\"idle\"} ",
    "maillatch_database_connections_max ",
    "maillatch_build_info{version=\"",
    "process_resident_memory_bytes ",
    "process_cpu_seconds_total ",
    "process_open_fds ",
    "process_start_time_seconds ",
];

/// Counts of at least one after a sign-up, up to their values.
const COUNTS: [&str; 9] = [
    "maillatch_deliveries_total{source=\"dev\",outcome=\"accepted\"} ",
    "maillatch_dedupe_hits_total{layer=\"delivery\"} ",
    "maillatch_processed_total{source=\"dev\",outcome=\"done\"} ",
    "maillatch_artifacts_total{kind=\"code\",verdict=\"usable\"} ",
    "maillatch_attempts_total{outcome=\"opened\"} ",
    "maillatch_attempts_total{outcome=\"ready\"} ",
    "maillatch_attempts_total{outcome=\"succeeded\"} ",
    "maillatch_artifacts_consumed_total{way=\"attempt\",outcome=\"first\"} ",
    "maillatch_request_duration_seconds_count{route=\"/v1/attempts\",method=\"POST\",\
     status=\"201\"} ",
];

async fn metrics_follow_the_conventions(harness: Harness) {
    let all = metrics_after_sign_ups(&harness).await;
    let helps: BTreeMap<&str, &str> = all
        .lines()
        .filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' '))
        .collect();
    for (name, help) in &helps {
        assert!(help.split(' ').count() >= 3, "{name}: {help}");
        let is_ours = name.starts_with("maillatch_") || name.starts_with("process_");
        assert!(is_ours, "{name}");
    }
    let samples = all.lines().filter(|line| !line.starts_with('#'));
    for sample in samples {
        let Some((_, labels)) = sample.split_once('{') else {
            continue;
        };
        let (labels, _) = labels.rsplit_once('}').unwrap();
        for label in labels.split("\",") {
            let (name, _) = label.split_once('=').unwrap();
            assert!(LABELS.contains(&name), "{name} in {sample}");
        }
    }
    harness.end().await;
}

/// Signs up until every count is there. One sign-up may not be enough: a call that was
/// answered 503 and is repeated counts as a repeat.
async fn metrics_after_sign_ups(harness: &Harness) -> String {
    let mut sign_ups = 0;
    let mut missing = Vec::new();
    while sign_ups < 5 {
        sign_ups += 1;
        sign_up(harness, sign_ups).await;
        // A process counts what it did after its commit, so a client can see the result
        // before the count.
        for _ in 0..100 {
            let all = metrics_of_every_process(harness).await;
            missing = missing_in(&all);
            if missing.is_empty() {
                return all;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    panic!("after {sign_ups} sign-ups these are missing: {missing:?}");
}

/// An attempt that gets its code from a delivery that is posted twice.
async fn sign_up(harness: &Harness, number: u32) {
    let attempt = harness.open(json!({})).await;
    let inbox = attempt["inbox"].as_str().unwrap();
    let mail = otp_delivery(inbox, &format!("m{number}"), "493817");
    let delivery = format!("d{number}");
    harness.post_until_accepted(0, &delivery, &mail).await;
    harness.post_until_accepted(0, &delivery, &mail).await;
    harness.take(&attempt, &format!("take-{number}")).await;
    let path = format!("/v1/attempts/{}/finish", attempt["id"].as_str().unwrap());
    let outcome = json!({ "outcome": "succeeded" });
    let key = format!("finish-{number}");
    assert_eq!(harness.post_json(&path, &key, &outcome).await.0, 200);
}

fn missing_in(all: &str) -> Vec<&'static str> {
    let value = |sample: &str| all.lines().find_map(|line| line.strip_prefix(sample));
    let is_positive = |sample: &str| {
        value(sample).is_some_and(|value| value.parse::<f64>().is_ok_and(|count| count >= 1.0))
    };
    let samples = SAMPLES.into_iter().filter(|sample| value(sample).is_none());
    let counts = COUNTS.into_iter().filter(|sample| !is_positive(sample));
    samples.chain(counts).collect()
}

async fn metrics_of_every_process(harness: &Harness) -> String {
    let mut all = String::new();
    for role in [Role::Webhook, Role::Worker, Role::Feed] {
        all.push_str(&harness.all_metrics(role).await);
    }
    all
}

async fn public_listener_shows_neither_metrics_nor_details(harness: Harness) {
    for role in [Role::Webhook, Role::Worker, Role::Feed] {
        let metrics = harness.get(role, "metrics").await;
        assert_eq!(metrics.status, 404, "{metrics:?}");
        let words = json!({
            "ready": true, "checks": { "database": "ok", "queue": "ok", "tasks": "ok" },
        });
        // A process is ready before it has reached its queue.
        testkit::wait::until("a connection to the queue", async || {
            let ready = harness.get(role, "readyz").await;
            assert_eq!(ready.status, 200, "{ready:?}");
            (ready.body == words).then_some(())
        })
        .await;
        let detailed = harness.ops(role, "readyz").await;
        assert!(detailed.body["warnings"].is_array(), "{detailed:?}");
        let ops = harness.deployment.ops_url(role).unwrap();
        assert_eq!(ops.host_str(), Some("127.0.0.1"));
        let hook = harness.ops(role, "hooks/dev").await;
        assert_eq!(hook.status, 404, "operators' listener has nothing else");
    }
    harness.end().await;
}

/// Two servers on one machine: the second one serves without metrics and says so. A
/// configured address that is taken is an error.
#[tokio::test(flavor = "multi_thread")]
async fn taken_ops_address_is_a_warning_by_default_and_an_error_if_configured() {
    use std::process::{Command, Stdio};

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ops = taken.local_addr().unwrap().port();
    let dir = tempfile::tempdir().unwrap();
    let mut configured = Command::new(crate::harness::binary());
    configured
        .args(["up", "--listen", "127.0.0.1:0"])
        .env("MAILLATCH_SERVER__OPS_LISTEN", format!("127.0.0.1:{ops}"))
        .current_dir(dir.path());
    let output = tokio::task::spawn_blocking(move || configured.output().unwrap());
    let output = output.await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("another process listens on 127.0.0.1:{ops}")),
        "{said}"
    );

    let mut server = Command::new(crate::harness::binary())
        .args([
            "up",
            "--json",
            "--listen",
            &format!("127.0.0.1:{}", ops - 1000),
        ])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(server.stdout.take().unwrap()));
    let ready: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(ready["ops_url"], json!(null), "{ready}");
    assert!(
        ready["url"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:")
    );
}
