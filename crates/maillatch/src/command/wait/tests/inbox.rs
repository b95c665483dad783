//! An inbox behind a real feed, and clients for it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::{App, HttpServer};
use pipeline::{
    ArtifactId, ArtifactKey, ArtifactKind, AttemptId, InboxId, Meters, Miss, MissKind, NewArtifact,
    NewMessage, OpenAttempt, Reason, Sender, SenderProof, ServerKey, Verdict, refuse_sender,
};
use prometheus_client::registry::Registry;
use testkit::store_contract::{Seams, mail, suited};
use testkit::wait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use client::{Client, Connection};

pub(super) struct Inbox {
    pub(super) address: InboxId,
    server: SocketAddr,
    token: String,
    seams: Seams,
    meters: Meters,
    _dir: tempfile::TempDir,
}

impl Inbox {
    pub(super) async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("wait.db").display());
        let store = store::open(&store::Settings::new(url.into()).sealed_with(secrets()))
            .await
            .unwrap();
        let meters = Meters::register(&mut Registry::default());
        let token = feed::Keys::mint();
        let deps = feed::Deps {
            log: Arc::clone(&store.agents),
            inboxes: Arc::clone(&store.inboxes),
            attempts: Arc::clone(&store.attempts),
            audit: Arc::clone(&store.audit),
            guards: Arc::clone(&store.guards),
            sends: Arc::clone(&store.sends),
            threads: Arc::clone(&store.threads),
            desk: None,
            deliveries: Arc::clone(&store.deliveries),
            keys: Arc::new(keys(&token)),
            cursor_key: ServerKey::new([7; 32]),
            meters: meters.clone(),
            settings: feed::Settings::default(),
            policy: feed::Policy::default(),
            shutdown: CancellationToken::new(),
        };
        Self {
            address: "agent@inbox.test".parse().unwrap(),
            server: serve(deps),
            token,
            seams: Seams {
                deliveries: store.deliveries,
                work: store.work,
                agents: store.agents,
                inboxes: store.inboxes,
                attempts: store.attempts,
                audit: store.audit,
                failures: store.failures,
                probe: store.probe,
            },
            meters,
            _dir: dir,
        }
    }

    pub(super) fn server(&self) -> SocketAddr {
        self.server
    }

    pub(super) fn client(&self) -> Client {
        self.client_through(self.server)
    }

    pub(super) fn client_through(&self, address: SocketAddr) -> Client {
        connect(address, &self.token)
    }

    pub(super) fn client_with_key(&self, token: &str) -> Client {
        connect(self.server, token)
    }

    /// Stores an artifact in a message from a sender of the domain.
    pub(super) async fn arrives(&self, domain: &str, artifact: NewArtifact) {
        self.arrives_with(SenderProof::default(), domain, artifact)
            .await;
    }

    /// Stores an artifact with this proof of the sender.
    pub(super) async fn arrives_with(
        &self,
        proof: SenderProof,
        domain: &str,
        artifact: NewArtifact,
    ) {
        let id = artifact.id.to_string();
        let (matches, misses) = self.judge(domain, &proof, &artifact).await;
        let artifact = suited(artifact, &matches);
        let message = NewMessage {
            sender: Sender {
                address: Some(format!("no-reply@{domain}")),
                domain: Some(domain.to_owned()),
                proof,
            },
            misses,
            ..mail(&self.address, &id, vec![artifact])
        };
        self.seams.process(&id, vec![message]).await;
    }

    /// The open attempts that an artifact matches, and why it does not match the others, as
    /// a worker would record it.
    async fn judge(
        &self,
        domain: &str,
        proof: &SenderProof,
        artifact: &NewArtifact,
    ) -> (Vec<AttemptId>, Vec<Miss>) {
        let to = std::slice::from_ref(&self.address);
        let expected = self.seams.work.expectations(to).await.unwrap();
        let (mut matches, mut misses) = (Vec::new(), Vec::new());
        for OpenAttempt { id, rules } in &expected[0].attempts {
            let refusal = refuse_sender(Some(domain), proof, &rules.senders, rules.needs_proof);
            let blocked = refusal.or_else(|| artifact.verdict.reason().cloned());
            let (kind, reason) = match blocked {
                None if rules.wanted.includes(artifact.kind) => {
                    matches.push(*id);
                    continue;
                }
                Some(reason) if artifact.kind != ArtifactKind::Nothing => {
                    (MissKind::Blocked, reason)
                }
                Some(reason) => (MissKind::NoArtifact, reason),
                None => (MissKind::NoArtifact, Reason::new("link_instead")),
            };
            misses.push(Miss {
                attempt: *id,
                kind,
                reason,
                seen: None,
            });
        }
        (matches, misses)
    }

    /// How many attempts are open.
    pub(super) async fn open_attempts(&self) -> usize {
        let to = std::slice::from_ref(&self.address);
        let expected = self.seams.work.expectations(to).await.unwrap();
        expected[0].attempts.len()
    }

    /// Resolves when a wait is open at the server.
    pub(super) async fn someone_waits(&self) {
        wait::until("somebody waits", async || {
            (self.meters.waiting.get() > 0).then_some(())
        })
        .await;
    }
}

fn keys(token: &str) -> feed::Keys {
    let setting = feed::KeySettings {
        token: Some(token.into()),
        hash: None,
        inboxes: vec!["*".to_owned()],
        scopes: Vec::new(),
    };
    feed::Keys::build(BTreeMap::from([("agent".to_owned(), setting)])).unwrap()
}

fn serve(deps: feed::Deps) -> SocketAddr {
    let routes = feed::routes(deps);
    let server = HttpServer::new(move || App::new().configure(routes.clone()))
        .workers(1)
        .disable_signals()
        .bind("127.0.0.1:0")
        .unwrap();
    let address = server.addrs()[0];
    tokio::spawn(server.run());
    address
}

fn connect(address: SocketAddr, token: &str) -> Client {
    let url = format!("http://{address}").parse().unwrap();
    Client::new(Connection {
        url,
        key: token.into(),
    })
    .unwrap()
}

/// A usable code; each is an artifact of its own.
pub(super) fn code(value: &str) -> NewArtifact {
    let id = ArtifactId::new();
    let kind = ArtifactKind::Code;
    NewArtifact {
        key: ArtifactKey::for_message(&ServerKey::new([7; 32]), id.as_uuid().as_bytes(), kind),
        id,
        kind,
        verdict: Verdict::Usable,
        value: Some(value.into()),
        rule: Reason::new("labelled_digits"),
        confidence: 97,
        host: None,
        lifetime: Duration::from_mins(10),
        matches: Vec::new(),
        needs_attempt: false,
    }
}

/// A relay to the server. It forwards the first consume, reads the answer, and closes the
/// client's connection without forwarding it.
pub(super) async fn relay_that_loses_an_answer(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let happened = Arc::new(AtomicBool::new(false));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let happened = Arc::clone(&happened);
            tokio::spawn(async move {
                let server = TcpStream::connect(server).await.unwrap();
                relay(client, server, &happened).await;
            });
        }
    });
    address
}

async fn relay(mut client: TcpStream, mut server: TcpStream, happened: &AtomicBool) {
    let (mut asked, mut answered) = ([0; 4096], [0; 4096]);
    let mut drops_answers = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(count @ 1..) = read else { return };
                let path = asked.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
                if path.ends_with(b"/consume") {
                    drops_answers |= !happened.swap(true, Ordering::SeqCst);
                }
                server.write_all(&asked[..count]).await.unwrap();
            }
            read = server.read(&mut answered) => {
                let Ok(count @ 1..) = read else { return };
                if drops_answers {
                    return;
                }
                client.write_all(&answered[..count]).await.unwrap();
            }
        }
    }
}

fn secrets() -> store::Secrets {
    store::Secrets {
        keyring: store::SealKey::new([7; 32]).into(),
        server_key: ServerKey::new([7; 32]),
    }
}
