//! A server that is killed with SIGKILL in the middle of a wait and started again on its
//! port: the commands that wait go on.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use testkit::own_port::OwnPort;
use testkit::wait;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::harness::binary;

/// A server with its data, and what its commands find in the environment.
struct Server {
    folder: TempDir,
    port: OwnPort,
    ops_url: String,
    process: Child,
}

/// Starts it; its operators' URL and its process.
async fn up(folder: &Path, port: &OwnPort) -> (String, Child) {
    let mut process = Command::new(binary())
        .args(["up", "--json", "--listen", &port.address.to_string()])
        .env("MAILLATCH_SERVER__OPS_LISTEN", "127.0.0.1:0")
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = wait::soon("a start", lines.next_line()).await.unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
    (ready["ops_url"].as_str().unwrap().to_owned(), process)
}

impl Server {
    async fn start() -> Self {
        // Another test may have installed it already; it is the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = TempDir::new().unwrap();
        let port = OwnPort::take();
        let (ops_url, process) = up(folder.path(), &port).await;
        Self {
            folder,
            port,
            ops_url,
            process,
        }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    async fn run(&self, line: &str) -> String {
        let output = self.command(line).output().await.unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Sends a code to an address, again and again until the server accepts it.
    async fn send_code(&self, address: &str) {
        let line = format!("trigger otp --to {address}");
        wait::until("an accepted mail", async || {
            let posted = self.command(&line).output().await.unwrap();
            posted.status.success().then_some(())
        })
        .await;
    }

    /// Begins the three commands that wait. Returns them and the addresses that they wait
    /// for.
    async fn begin_waits(&self, timeout: &str) -> ([Child; 3], [String; 3]) {
        let [shown, consumed] = [self.open().await, self.open().await];
        let own = "x@inbox.test".to_owned();
        let lines = [
            format!("wait code --to {own} --timeout {timeout}"),
            format!("attempt wait {} --timeout {timeout}", shown.0),
            format!("attempt consume {} --timeout {timeout}", consumed.0),
        ];
        let waits = lines.map(|line| self.command(&line).spawn().unwrap());
        (waits, [own, shown.1, consumed.1])
    }

    /// Opens an attempt: its id and its address.
    async fn open(&self) -> (String, String) {
        let opened = self.run("attempt new").await;
        let (id, address) = opened.trim().split_once(char::is_whitespace).unwrap();
        (id.to_owned(), address.to_owned())
    }

    /// Waits until all three wait on the server.
    async fn until_waiting(&self) {
        wait::until("three waits", async || {
            let metrics = format!("{}/metrics", self.ops_url);
            let metrics = reqwest::get(metrics).await.unwrap();
            let metrics = metrics.text().await.unwrap();
            let mut lines = metrics.lines();
            lines
                .find(|line| *line == "maillatch_waiting 3")
                .map(|_| ())
        })
        .await;
    }

    async fn kill(&mut self) {
        self.until_waiting().await;
        self.process.kill().await.unwrap();
    }

    async fn start_again(&mut self) {
        (self.ops_url, self.process) = up(self.folder.path(), &self.port).await;
    }
}

async fn end(child: Child) -> (Option<i32>, String) {
    let ended = wait::soon("an end", child.wait_with_output()).await;
    let Output { status, stdout, .. } = ended.unwrap();
    (status.code(), String::from_utf8(stdout).unwrap())
}

fn is_code(line: &str) -> bool {
    let line = line.trim_end();
    line.len() == 6 && line.bytes().all(|byte| byte.is_ascii_digit())
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_go_on_after_their_server_was_killed_twice() {
    let mut server = Server::start().await;
    let ([wait, shown, consumed], addresses) = server.begin_waits("170s").await;
    for _ in 0..2 {
        server.kill().await;
        server.start_again().await;
    }
    server.until_waiting().await;
    for address in addresses {
        server.send_code(&address).await;
    }
    for child in [wait, consumed] {
        let (code, line) = end(child).await;
        assert!(code == Some(0) && is_code(&line), "{code:?} {line}");
    }
    assert_eq!(end(shown).await.0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_stays_away_ends_waits_with_8_at_their_timeout() {
    let mut server = Server::start().await;
    let (waits, _) = server.begin_waits("30s").await;
    server.kill().await;
    let killed_at = Instant::now();
    for child in waits {
        assert_eq!(end(child).await, (Some(8), String::new()));
    }
    assert!(killed_at.elapsed() < Duration::from_mins(1));
}
