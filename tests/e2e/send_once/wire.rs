//! The wire to an SMTP server. It can be cut at a byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Where the wire is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// In the command `DATA`.
    BeforeMessage,
    /// In the middle of the message.
    InMessage,
    /// Before the final dot: the server has the whole message.
    BeforeDot,
    /// In the line of the final dot: the server has the dot and not the end of its line.
    InDot,
    /// After the final dot, with the server's answer on the wire.
    AfterDot,
}

impl Cut {
    /// Whether the next byte from the client is the first that does not arrive.
    fn is_before(self, passed: &[u8], next: u8) -> bool {
        let is_in_message = passed.windows(6).any(|six| six == b"DATA\r\n");
        let ends = |end: &[u8]| passed.ends_with(end);
        match self {
            Self::BeforeMessage => ends(b"DATA\r") && next == b'\n',
            Self::InMessage => is_in_message && ends(b"\r\nSubject:"),
            Self::BeforeDot => is_in_message && ends(b"\r\n") && next == b'.',
            Self::InDot => is_in_message && ends(b"\r\n.") && next == b'\r',
            Self::AfterDot => false,
        }
    }
}

/// A wire. Each connection takes the next cut, or none.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) port: u16,
    cuts: Arc<Mutex<VecDeque<Cut>>>,
}

impl Wire {
    /// A wire to the server at this address.
    pub(super) async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let wire = Self {
            port: listener.local_addr().unwrap().port(),
            cuts: Arc::default(),
        };
        let serving = wire.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let cut = serving.cuts.lock().unwrap().pop_front();
                if let Ok(server) = TcpStream::connect(&server).await {
                    tokio::spawn(pass(client, server, cut));
                }
            }
        });
        wire
    }

    /// The next connections are cut here, each once.
    pub(super) fn cut(&self, cuts: impl IntoIterator<Item = Cut>) {
        self.cuts.lock().unwrap().extend(cuts);
    }
}

/// Passes bytes both ways until one side ends or the wire is cut. Both connections end
/// with it.
async fn pass(client: TcpStream, server: TcpStream, cut: Option<Cut>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (dotted, has_dot) = watch::channel(false);
    let swallows = (cut == Some(Cut::AfterDot)).then_some(has_dot);
    tokio::select! {
        () = pass_to_server(from_client, to_server, cut, dotted) => {}
        () = pass_to_client(from_server, to_client, swallows) => {}
    }
}

async fn pass_to_server(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    cut: Option<Cut>,
    dotted: watch::Sender<bool>,
) {
    let mut passed = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        let begun = passed.len();
        for byte in &chunk[..length] {
            if cut.is_some_and(|cut| cut.is_before(&passed, *byte)) {
                // Bytes from before the cut are passed on.
                let _ = to.write_all(&passed[begun..]).await;
                return;
            }
            passed.push(*byte);
        }
        if passed.ends_with(b"\r\n.\r\n") {
            dotted.send_replace(true);
        }
        if to.write_all(&passed[begun..]).await.is_err() {
            return;
        }
    }
}

/// `swallows`: the first answer after the final dot is not passed on.
async fn pass_to_client(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    swallows: Option<watch::Receiver<bool>>,
) {
    let mut chunk = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        if swallows.as_ref().is_some_and(|dotted| *dotted.borrow()) {
            return;
        }
        if to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
}
