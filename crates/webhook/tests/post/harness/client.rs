//! A client that sends exactly the given bytes.

use pipeline::Timestamp;
use providers::sign;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::{NOW, SECRET};

/// One connection to a server under test.
pub(crate) struct Connection(TcpStream);

/// A server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Status line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn has_header(&self, line: &str) -> bool {
        self.head.lines().any(|have| have == line)
    }

    pub(crate) fn field(&self, name: &str) -> serde_json::Value {
        let body: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        body.get(name).cloned().unwrap_or_default()
    }

    /// Whether this is the problem `slug` with this status.
    pub(crate) fn is_problem(&self, status: u16, slug: &str) -> bool {
        self.status == status
            && self.has_header("content-type: application/problem+json")
            && self.has_header("cache-control: no-store")
            && self.field("type") == format!("urn:maillatch:problem:{slug}")
            && self.field("status") == status
    }
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Self {
        Self(
            TcpStream::connect(("127.0.0.1", port))
                .await
                .expect("connected"),
        )
    }

    /// Connects from another address of this machine.
    pub(crate) async fn open_from(address: [u8; 4], port: u16) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((address, 0).into()).expect("an address");
        let server = ([127, 0, 0, 1], port).into();
        Self(socket.connect(server).await.expect("connected"))
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("sent");
    }

    /// Sends bytes that the server may already refuse.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).await.is_ok()
    }

    /// Sends a whole request and reads its answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Answer {
        self.send(request).await;
        self.answer().await.expect("an answer")
    }

    /// The next answer; `None` when the connection ends without one.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        testkit::wait::soon("an answer", self.read_answer()).await
    }

    /// Whether the server has closed the connection.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let ended = async { matches!(self.0.read(&mut [0; 64]).await, Ok(0) | Err(_)) };
        testkit::wait::soon("the end of the connection", ended).await
    }

    /// Closes the connection with a TCP reset.
    pub(crate) fn reset(self) {
        self.0.set_zero_linger().expect("lingering is set");
    }

    async fn read_answer(&mut self) -> Option<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).expect("text").to_lowercase();
        let status = head.split(' ').nth(1)?.parse().expect("a status");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.ok()?;
        let body = String::from_utf8(body).expect("text");
        Some(Answer { status, head, body })
    }
}

/// A whole post with these header lines and this body.
pub(crate) fn with_headers(source: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "POST /hooks/{source} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    request.push_str("\r\n");
    [request.as_bytes(), body].concat()
}

/// A whole post, signed at the frozen time.
pub(crate) fn signed(source: &str, id: &str, body: &[u8]) -> Vec<u8> {
    let at = Timestamp::from_millis(NOW * 1000);
    let signature = sign(&SecretString::from(SECRET), id, at, body).expect("signed");
    let headers = [
        ("content-type", "application/json"),
        ("webhook-id", id),
        ("webhook-timestamp", &NOW.to_string()),
        ("webhook-signature", &signature),
    ];
    with_headers(source, &headers, body)
}
