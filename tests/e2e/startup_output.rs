//! What a start prints on standard error.

use std::path::Path;
use std::process::Stdio;

use testkit::wait;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::harness::binary;

fn up(dir: &Path, listen: &str) -> Command {
    let mut command = Command::new(binary());
    command
        .args(["up", "--listen", listen])
        .current_dir(dir)
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The output of a server until it is ready, and the server.
async fn start(dir: &Path) -> (String, Child) {
    let mut server = up(dir, "127.0.0.1:0").spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let mut said = String::new();
    while let Some(line) = wait::soon("a start", lines.next_line()).await.unwrap() {
        said.push_str(&line);
        said.push('\n');
        if line.starts_with("Ready on ") {
            break;
        }
    }
    (said, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn development_start_prints_what_to_try_and_a_taken_port_what_to_do() {
    let [dir, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (said, _server) = start(dir.path()).await;
    for wanted in ["/hooks/dev", "dev.env", "trigger otp", "wait code", "/docs"] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let ready = said.lines().last().unwrap();
    let address = ready.split_whitespace().nth(2).unwrap();
    let address = address.trim_start_matches("http://");
    let second = up(other.path(), address).output().await.unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(
        said.contains(address) && said.contains("--listen 127.0.0.1:0"),
        "{said}"
    );

    let mut create = Command::new(binary());
    create
        .args(["api-key", "create", "dev"])
        .current_dir(dir.path());
    let refused = create.output().await.unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("dev.env"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn start_with_own_source_and_key_prints_no_development_hints() {
    let dir = tempfile::tempdir().unwrap();
    let settings = format!(
        "[source.shop]\nprovider = \"standard-webhooks\"\nsecrets = [\"whsec_{}\"]\n\
         [key.robot]\ntoken = \"mlk_{}\"\ninboxes = [\"*\"]\n",
        "QUJD".repeat(10),
        "x".repeat(43)
    );
    std::fs::write(dir.path().join("maillatch.toml"), settings).unwrap();
    let (said, _server) = start(dir.path()).await;
    for wanted in [
        "/hooks/shop",
        "robot",
        "api-key create",
        "source test shop",
        "/docs",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    for untrue in ["/hooks/dev", "dev.env", "trigger otp"] {
        assert!(!said.contains(untrue), "{untrue}: {said}");
    }
}
