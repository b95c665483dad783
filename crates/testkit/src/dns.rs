//! A DNS server on loopback that knows a few TXT records.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// Answers questions for TXT records until it is dropped.
#[derive(Debug)]
pub struct Dns {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    answering: JoinHandle<()>,
}

impl Dns {
    /// A server with these names, in lower case and without a final dot. It answers
    /// NXDOMAIN for all others.
    pub async fn knowing(records: BTreeMap<String, String>) -> Self {
        Self::start(records, None).await
    }

    /// The same, but it never answers for this name and those below it.
    pub async fn with_silence(records: BTreeMap<String, String>, silent: &str) -> Self {
        Self::start(records, Some(silent.to_owned())).await
    }

    /// A server that never answers.
    pub async fn mute() -> Self {
        Self::with_silence(BTreeMap::new(), "").await
    }

    async fn start(records: BTreeMap<String, String>, silent: Option<String>) -> Self {
        let Ok(socket) = UdpSocket::bind(("127.0.0.1", 0)).await else {
            panic!("no free port on loopback");
        };
        let Ok(address) = socket.local_addr() else {
            panic!("a socket without an address");
        };
        let asked = Arc::<AtomicUsize>::default();
        let answering = tokio::spawn(answer(socket, records, silent, Arc::clone(&asked)));
        Self {
            address,
            asked,
            answering,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many questions it received.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for Dns {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

async fn answer(
    socket: UdpSocket,
    records: BTreeMap<String, String>,
    silent: Option<String>,
    asked: Arc<AtomicUsize>,
) {
    let mut buffer = [0; 1_500];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        asked.fetch_add(1, Ordering::SeqCst);
        let question = buffer.get(..length).unwrap_or_default();
        let answer = respond(question, &records, silent.as_deref());
        if let Some(answer) = answer {
            // The client may have gone.
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

/// The answer to a message with one question; RFC 1035, section 4.
fn respond(
    message: &[u8],
    records: &BTreeMap<String, String>,
    silent: Option<&str>,
) -> Option<Vec<u8>> {
    let (id, rest) = (message.get(..2)?, message.get(12..)?);
    let mut name = Vec::new();
    let mut at = 0;
    while let Some(&length) = rest.get(at).filter(|length| **length > 0) {
        let label = rest.get(at + 1..at + 1 + usize::from(length))?;
        name.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        at += 1 + usize::from(length);
    }
    // The name's end, its type and its class.
    let question = rest.get(..at + 5)?;
    let name = name.join(".");
    if silent.is_some_and(|silent| name.ends_with(silent)) {
        return None;
    }
    let record = records.get(&name);
    let mut answer = Vec::from(id);
    // A response that is recursive and has no error, or NXDOMAIN.
    answer.extend([0x81, if record.is_some() { 0x80 } else { 0x83 }]);
    answer.extend([0, 1, 0, u8::from(record.is_some()), 0, 0, 0, 0]);
    answer.extend(question);
    if let Some(text) = record {
        let data: Vec<u8> = text
            .as_bytes()
            .chunks(255)
            .flat_map(|chunk| [&[u8::try_from(chunk.len()).unwrap_or(255)], chunk].concat())
            .collect();
        // The name of the question, TXT, IN, for a minute.
        answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60]);
        answer.extend(u16::try_from(data.len()).ok()?.to_be_bytes());
        answer.extend(data);
    }
    Some(answer)
}
