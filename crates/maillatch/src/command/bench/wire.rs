//! One HTTP connection that sends prepared requests. A general client would use as
//! much processor time as the server that it measures.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use url::Url;

/// More than a webhook ever answers.
const LONGEST_ANSWER: u64 = 64 * 1024;

/// A connection that is opened when it is needed.
pub(super) struct Wire {
    address: String,
    stream: Option<BufReader<TcpStream>>,
}

impl Wire {
    pub(super) fn to(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(80);
        Self {
            address: format!("{host}:{port}"),
            stream: None,
        }
    }

    /// Opens the connection, so that the first request does not wait for it.
    pub(super) async fn open(&mut self) -> io::Result<()> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        self.stream = Some(BufReader::new(stream));
        Ok(())
    }

    /// Sends a request and returns the status of its answer.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> io::Result<u16> {
        if self.stream.is_none() {
            self.open().await?;
        }
        let Some(stream) = &mut self.stream else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        match answer(stream, request).await {
            Ok((status, true)) => Ok(status),
            Ok((status, false)) => {
                self.stream = None;
                Ok(status)
            }
            Err(error) => {
                self.stream = None;
                Err(error)
            }
        }
    }
}

/// The status, and whether the connection stays open.
async fn answer(stream: &mut BufReader<TcpStream>, request: &[u8]) -> io::Result<(u16, bool)> {
    stream.get_mut().write_all(request).await?;
    let mut line = String::new();
    let (mut status, mut length, mut stays) = (None, 0, true);
    loop {
        line.clear();
        let count = stream.take(LONGEST_ANSWER).read_line(&mut line).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = line.trim_end();
        if text.is_empty() {
            break;
        }
        if status.is_none() {
            status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
            continue;
        }
        let Some((name, value)) = text.split_once(": ") else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap_or(0);
        }
        if name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
            stays = false;
        }
    }
    let mut body = Vec::new();
    stream
        .take(length.min(LONGEST_ANSWER))
        .read_to_end(&mut body)
        .await?;
    let status = status.ok_or(io::ErrorKind::InvalidData)?;
    Ok((status, stays))
}
