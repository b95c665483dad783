//! A client of the Model Context Protocol that writes its JSON itself: over standard
//! input and output of a real process, or over HTTP.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::harness::binary;

/// The newest revision; it has no handshake.
pub(super) const STATELESS: &str = "2026-07-28";
/// A call waits for at most 50 seconds; the rest is for a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// How the protocol is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    Stdio,
    Http,
}

pub(super) const CARRIERS: [Carrier; 2] = [Carrier::Stdio, Carrier::Http];

/// A client that has begun.
pub(super) struct Session {
    wire: Wire,
    revision: &'static str,
    next_id: AtomicU64,
}

enum Wire {
    Stdio(Box<Process>),
    Http {
        http: reqwest::Client,
        url: String,
        key: String,
    },
}

/// The awaited answers by id, and the messages without an id.
#[derive(Default)]
struct Inbound {
    answers: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    notifications: Mutex<Vec<Value>>,
}

struct Process {
    child: Child,
    stdin: tokio::sync::Mutex<ChildStdin>,
    inbound: Arc<Inbound>,
}

impl Process {
    fn start(url: &str, key: &str) -> Self {
        let mut child = Command::new(binary())
            .arg("mcp")
            .env("MAILLATCH_URL", url)
            .env("MAILLATCH_KEY", key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = tokio::sync::Mutex::new(child.stdin.take().unwrap());
        let inbound = Arc::new(Inbound::default());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let into = Arc::clone(&inbound);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                let id = message["id"].as_u64();
                let awaited = id.and_then(|id| into.answers.lock().unwrap().remove(&id));
                match awaited {
                    Some(answer) => drop(answer.send(message)),
                    None => into.notifications.lock().unwrap().push(message),
                }
            }
        });
        Self {
            child,
            stdin,
            inbound,
        }
    }

    async fn write(&self, message: &Value) {
        let mut stdin = self.stdin.lock().await;
        let line = format!("{message}\n");
        stdin.write_all(line.as_bytes()).await.unwrap();
    }
}

impl Session {
    /// Begins with a revision of the protocol.
    pub(super) async fn begin(
        carrier: Carrier,
        (url, key): (String, String),
        revision: &'static str,
    ) -> Self {
        let wire = match carrier {
            Carrier::Stdio => Wire::Stdio(Box::new(Process::start(&url, &key))),
            Carrier::Http => Wire::Http {
                http: reqwest::Client::builder()
                    .timeout(PATIENCE)
                    .pool_idle_timeout(Duration::from_secs(2))
                    .build()
                    .unwrap(),
                url: format!("{url}mcp"),
                key,
            },
        };
        let session = Self {
            wire,
            revision,
            next_id: AtomicU64::new(1),
        };
        if revision != STATELESS {
            let client = json!({ "name": "raw", "version": "1" });
            let params = json!({
                "protocolVersion": revision, "capabilities": {}, "clientInfo": client,
            });
            let answer = session.ask("initialize", params).await;
            assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
            session.tell("notifications/initialized").await;
        }
        session
    }

    /// Sends a request and returns the whole answer.
    pub(super) async fn ask(&self, method: &str, mut params: Value) -> Value {
        if self.revision == STATELESS {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "raw", "version": "1" });
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        match &self.wire {
            Wire::Stdio(process) => {
                let (send, receive) = oneshot::channel();
                process.inbound.answers.lock().unwrap().insert(id, send);
                process.write(&message).await;
                timeout(PATIENCE, receive).await.unwrap().unwrap()
            }
            Wire::Http { .. } => {
                let (status, messages) = self.post(&message).await;
                let last = messages.last().cloned();
                last.unwrap_or_else(|| panic!("{method}: {status} without a body"))
            }
        }
    }

    async fn tell(&self, method: &str) {
        let message = json!({ "jsonrpc": "2.0", "method": method });
        match &self.wire {
            Wire::Stdio(process) => process.write(&message).await,
            Wire::Http { .. } => assert_eq!(self.post(&message).await.0, 202),
        }
    }

    /// Posts a message; returns the status and the messages of the answer.
    pub(super) async fn post(&self, message: &Value) -> (u16, Vec<Value>) {
        let Wire::Http { http, url, key } = &self.wire else {
            panic!("not over HTTP");
        };
        let mut request = http
            .post(url)
            .bearer_auth(key)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", self.revision);
        if self.revision == STATELESS {
            let method = message["method"].as_str().unwrap();
            request = request.header("mcp-method", method);
            if let Some(name) = message["params"]["name"].as_str() {
                request = request.header("mcp-name", name);
            }
        }
        let answer = request.json(message).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages: Vec<Value> = events
            .filter_map(|data| serde_json::from_str(data.trim()).ok())
            .collect();
        messages.extend(serde_json::from_str::<Value>(&text).ok());
        (status, messages)
    }

    /// Calls a tool and returns what it answers, which is also in its text.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.ask("tools/call", params).await;
        let content = answer["result"]["structuredContent"].clone();
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{tool}: {answer}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), content);
        content
    }

    /// What the server sent without being asked.
    pub(super) fn notifications(&self) -> Vec<Value> {
        match &self.wire {
            Wire::Stdio(process) => process.inbound.notifications.lock().unwrap().clone(),
            Wire::Http { .. } => Vec::new(),
        }
    }

    /// Kills the process, as a client does that was closed.
    pub(super) async fn kill(&mut self) {
        if let Wire::Stdio(process) = &mut self.wire {
            process.child.kill().await.unwrap();
        }
    }
}
