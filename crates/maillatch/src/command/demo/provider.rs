//! The demo's provider: it speaks Resend's contract on loopback, counts what it accepts,
//! and gives false answers when the demo asks for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the provider does with one mail after it accepted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    /// Answers 500.
    Fail,
    /// Answers never.
    Hang,
}

/// The provider. Clones share their state.
#[derive(Clone)]
pub(super) struct Provider {
    pub(super) url: String,
    state: Arc<Mutex<State>>,
    accepted: Arc<watch::Sender<usize>>,
}

#[derive(Default)]
struct State {
    lies: VecDeque<Lie>,
    /// The accepted mails: idempotency key and body.
    mails: BTreeMap<String, Vec<u8>>,
}

impl Provider {
    pub(super) async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let provider = Self {
            url: format!("http://{}", listener.local_addr()?),
            state: Arc::default(),
            accepted: Arc::new(watch::Sender::new(0)),
        };
        let serving = provider.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.serve(connection).await });
            }
        });
        Ok(provider)
    }

    /// The next mails are answered by these lies.
    pub(super) fn lie(&self, lie: Lie) {
        self.state().lies.push_back(lie);
    }

    /// How many mails were accepted. A repetition with a known key is not.
    pub(super) fn accepted(&self) -> usize {
        *self.accepted.borrow()
    }

    /// Waits until so many mails were accepted.
    pub(super) async fn until_accepted(&self, count: usize) -> Result<()> {
        let mut accepted = self.accepted.subscribe();
        let waiting = accepted.wait_for(|accepted| *accepted >= count);
        let waited = tokio::time::timeout(super::TIMEOUT, waiting).await;
        waited.context("the provider got no mail")??;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, mut connection: TcpStream) -> Option<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(connection.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).ok()?.to_ascii_lowercase();
        let header = |name: &str| {
            let mut lines = head.lines();
            let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.map(str::to_owned)
        };
        let length = header("content-length")?.parse().ok()?;
        let mut body = vec![0; length];
        connection.read_exact(&mut body).await.ok()?;
        let (status, lie) = self.accept(header("idempotency-key")?, body);
        if lie == Some(Lie::Hang) {
            // The connection stays open until the client is gone.
            let _ = connection.read_u8().await;
            return None;
        }
        let status = if lie == Some(Lie::Fail) { 500 } else { status };
        let body = json!({"id": "demo"}).to_string();
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(answer.as_bytes()).await.ok()
    }

    fn accept(&self, key: String, body: Vec<u8>) -> (u16, Option<Lie>) {
        let mut state = self.state();
        let lie = state.lies.pop_front();
        match state.mails.get(&key) {
            Some(known) if *known == body => (200, lie),
            Some(_) => (409, lie),
            None => {
                state.mails.insert(key, body);
                self.accepted.send_replace(state.mails.len());
                (200, lie)
            }
        }
    }
}
