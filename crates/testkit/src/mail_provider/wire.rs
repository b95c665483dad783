//! One HTTP exchange, close to the wire: it can stop at any byte.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// A header with the id of the mail.
    pub(super) id: Option<String>,
    pub(super) body: String,
}

impl Reply {
    /// An answer with a body of JSON.
    pub(super) fn new(status: u16, body: &Value) -> Self {
        Self::text(status, &body.to_string())
    }

    /// An answer with any body.
    pub(super) fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            id: None,
            body: body.to_owned(),
        }
    }

    /// An answer without a body, with the id of the mail in a header.
    pub(super) fn with_id(status: u16, id: &str) -> Self {
        Self {
            id: Some(id.to_owned()),
            ..Self::text(status, "")
        }
    }
}

/// A request and its connection.
pub(super) struct Exchange {
    connection: TcpStream,
    /// The head of the request.
    pub(super) head: String,
}

impl Exchange {
    pub(super) fn new(connection: TcpStream) -> Self {
        let head = String::new();
        Self { connection, head }
    }

    /// Reads up to the body.
    pub(super) async fn read_head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.connection.read_u8().await.ok()?);
        }
        self.head = String::from_utf8(head).ok()?;
        Some(self.head.clone())
    }

    fn length(&self) -> usize {
        let length = header(&self.head, "content-length");
        length.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    pub(super) async fn read_body(&mut self) -> Option<String> {
        let mut body = vec![0; self.length()];
        self.connection.read_exact(&mut body).await.ok()?;
        String::from_utf8(body).ok()
    }

    pub(super) async fn read_half(&mut self) {
        let mut half = vec![0; self.length() / 2];
        let _ = self.connection.read_exact(&mut half).await;
    }

    pub(super) async fn answer(&mut self, reply: &Reply) {
        let Reply { status, id, body } = reply;
        let length = body.len();
        let id = id.iter().map(|id| format!("x-message-id: {id}\r\n"));
        let id: String = id.collect();
        let text = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n{id}connection: close\r\n\r\n{body}"
        );
        let _ = self.connection.write_all(text.as_bytes()).await;
        let _ = self.connection.shutdown().await;
    }

    /// Ends the connection with a reset instead of a proper close.
    pub(super) fn reset(self) {
        let _ = self.connection.set_zero_linger();
    }

    /// Answers nothing while the client waits.
    pub(super) async fn stay_silent(&mut self) {
        let mut rest = [0; 64];
        let waiting = async { while let Ok(1..) = self.connection.read(&mut rest).await {} };
        let _ = tokio::time::timeout(Duration::from_mins(20), waiting).await;
    }
}

/// A header of a head, by its name in lower case.
pub(super) fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        let is_it = found.eq_ignore_ascii_case(name);
        is_it.then(|| value.trim().to_owned())
    })
}
