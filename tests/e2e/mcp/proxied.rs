//! A server in whose environment a proxy is named: `/mcp` asks its own process without it.

use std::process::Stdio;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tempfile::TempDir;
use testkit::wait;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use url::Url;

use super::session::{Carrier, Session};
use super::{fresh, text};
use crate::harness::binary;

/// An address of this machine that does not look like one.
const LISTEN: &str = "[::ffff:127.0.0.1]:0";
/// Nobody listens there.
const PROXY: &str = "http://127.0.0.1:9";

/// The program, in an environment that names the proxy.
fn proxied() -> Command {
    let mut program = Command::new(binary());
    for name in ["NO_PROXY", "no_proxy"] {
        program.env_remove(name);
    }
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        program.env(name, PROXY);
    }
    program
}

/// Starts a server, and returns its port.
async fn start(folder: &TempDir, key: &str) -> (Child, u16) {
    let config = format!(
        "server.listen = \"{LISTEN}\"\n\
         source.dev.provider = \"standard-webhooks\"\n\
         source.dev.secrets = [\"whsec_{}\"]\n\
         key.agent = {{ token = \"{key}\", inboxes = [\"*\"] }}\n",
        STANDARD.encode(fresh())
    );
    std::fs::write(folder.path().join("maillatch.toml"), config).unwrap();
    let mut server = proxied();
    server
        .args(["up", "--json"])
        .env("MAILLATCH_SERVER__OPS_LISTEN", "127.0.0.1:0")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut process = server.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = wait::soon("a start", lines.next_line()).await.unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
    let url: Url = text(&ready["url"]).parse().unwrap();
    (process, url.port().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_of_the_environment_is_not_used_for_calls_to_the_own_server() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = TempDir::new().unwrap();
    let key = feed::Keys::mint();
    let (mut server, port) = start(&folder, &key).await;
    let agent = (format!("http://127.0.0.1:{port}/"), key);
    let session = Session::begin(Carrier::Http, agent, "2025-11-25").await;
    let wish = json!({ "reference": "r1" });
    let started = session.call("start_attempt", wish).await;
    assert_eq!(started["status"], "pending", "{started}");
    let mut check = proxied();
    let url = format!("http://127.0.0.1:{port}/");
    let check = check.args(["healthcheck", "--url", &url]);
    assert!(check.status().await.unwrap().success());
    server.kill().await.unwrap();
}
