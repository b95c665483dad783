//! Clean shutdown: requests in progress are finished.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use maillatch::deployment::{Process, Role};
use pipeline::{Clock, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::harness::{Harness, binary, on_both_profiles, otp_mail, payload};

on_both_profiles!(
    post_in_progress_is_answered_at_shutdown,
    waiting_agent_is_answered_at_shutdown,
);

/// A post whose handler has begun before the shutdown is recorded and answered.
async fn post_in_progress_is_answered_at_shutdown(mut harness: Harness) {
    let url = harness.deployment.url(Role::Webhook, 0).unwrap();
    let address = url.socket_addrs(|| None).unwrap()[0];
    // Long enough that its first half is a fair rate for several seconds.
    let filler = "Thank you for reading.\r\n".repeat(4_000);
    let mail = [otp_mail("1", "493817"), filler.into_bytes()].concat();
    let body = payload("agent@inbox.test", &mail);
    let (first, rest) = body.split_at(body.len() / 2);
    let now = SystemClock.now();
    let secret = harness.deployment.signing_secret();
    let signature = providers::sign(&secret, "msg_late", now, &body).unwrap();
    let head = format!(
        "POST /hooks/dev HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\nwebhook-id: msg_late\r\n\
         webhook-timestamp: {}\r\nwebhook-signature: {signature}\r\n\r\n",
        body.len(),
        now.as_seconds(),
    );
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = connection.read(&mut answer).await.unwrap();
    assert!(
        answer[..read].starts_with(b"HTTP/1.1 100"),
        "the handler has begun"
    );
    connection.write_all(first).await.unwrap();
    for pid in harness
        .deployment
        .playing(Role::Webhook)
        .filter_map(Process::pid)
    {
        terminate(pid);
    }
    let deadline = Instant::now() + crate::harness::TIMEOUT;
    while TcpStream::connect(address).await.is_ok() {
        assert!(
            Instant::now() < deadline,
            "the process still takes connections"
        );
    }
    connection.write_all(rest).await.unwrap();
    let read = connection.read(&mut answer).await.unwrap();
    let text = String::from_utf8_lossy(&answer[..read]);
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 1);
    harness.deployment.stop().await.unwrap();
}

async fn waiting_agent_is_answered_at_shutdown(mut harness: Harness) {
    let client = harness.client.clone();
    let stop = async {
        let deadline = Instant::now() + crate::harness::TIMEOUT;
        loop {
            let metrics = harness.ops(Role::Feed, "metrics").await;
            if metrics
                .body
                .as_str()
                .unwrap()
                .contains("maillatch_waiting 1")
            {
                break;
            }
            assert!(Instant::now() < deadline, "the wait was never seen");
        }
        for pid in harness
            .deployment
            .playing(Role::Feed)
            .filter_map(Process::pid)
        {
            terminate(pid);
        }
    };
    let wait = "v1/inboxes/agent@inbox.test/artifacts?wait=50";
    let asked = Instant::now();
    let (answer, ()) = tokio::join!(client.get(&harness.deployment, Role::Feed, 0, wait), stop);
    assert_eq!(answer.unwrap().status, 200);
    assert!(
        asked.elapsed() < Duration::from_secs(40),
        "the wait was sat out"
    );
    harness.deployment.stop().await.unwrap();
}

/// The process cannot go on after its line for machines: the pipe for people is full.
#[test]
fn signal_right_after_the_ready_line_stops_the_process_cleanly() {
    let dir = tempfile::tempdir().unwrap();
    let (mut rest, mut full) = std::io::pipe().unwrap();
    full.write_all(&vec![b'\n'; 64 * 1024]).unwrap();
    let mut process = std::process::Command::new(binary())
        .args(["up", "--json", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir.path().join("data"))
        .env("MAILLATCH_LOG__FILTER", "off")
        .stdout(Stdio::piped())
        .stderr(full)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = process.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    assert!(line.contains("ready"), "{line}");
    terminate(process.id());
    let reading = std::thread::spawn(move || std::io::copy(&mut rest, &mut std::io::sink()));
    assert_eq!(process.wait().unwrap().code(), Some(0));
    reading.join().unwrap().unwrap();
}

fn terminate(pid: u32) {
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &pid.to_string()])
        .status();
    assert!(asked.unwrap().success());
}
