//! A fake provider that speaks the real contracts for sending mail over loopback, all on
//! one port: AgentMail, Brevo, Mailgun, Nylas, Postmark, Resend, SendGrid, Amazon SES and
//! SparkPost. It counts what it accepts, recognises idempotency keys where the real one
//! does, and lies when a test tells it to.

mod accepted;
mod contract;
mod lie;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use accepted::{Accepted, send_key};
use contract::{Asked, Provider};
pub use lie::Lie;
use wire::{Exchange, Reply};

use crate::own_port::OwnPort;

/// The provider. Clones share their state.
#[derive(Clone)]
pub struct MailProvider {
    /// Its URL, the same for every contract.
    pub url: String,
    state: Arc<Mutex<State>>,
    /// How many requests to send have arrived, stalled ones included.
    arrivals: Arc<watch::Sender<usize>>,
    gate: Arc<watch::Sender<bool>>,
    port: Arc<OwnPort>,
    door: Arc<tokio::sync::Mutex<Door>>,
}

/// How connections are met.
#[derive(Default)]
enum Door {
    /// They are accepted.
    Open(JoinHandle<()>),
    /// The queue of connections is full, and nothing is taken from it.
    #[expect(dead_code, reason = "they are kept open")]
    Closed(TcpListener, Vec<TcpStream>),
    /// They are refused.
    #[default]
    Refusing,
}

#[derive(Default)]
struct State {
    lies: VecDeque<Lie>,
    always: Option<Lie>,
    accepted: Vec<Accepted>,
    hides: bool,
    requests: usize,
    bodies: Vec<(String, String)>,
    heads: Vec<String>,
    /// Errors that are answered again, by provider and key.
    errors: BTreeMap<(Provider, String), Reply>,
}

impl MailProvider {
    /// An honest provider.
    pub async fn start() -> Self {
        let port = OwnPort::take();
        let listener = port.listen(1024).await;
        let provider = Self {
            url: format!("http://{}", port.address),
            state: Arc::default(),
            arrivals: Arc::new(watch::Sender::new(0)),
            gate: Arc::new(watch::Sender::new(false)),
            port: Arc::new(port),
            door: Arc::default(),
        };
        *provider.door.lock().await = Door::Open(provider.accept_from(listener));
        provider
    }

    fn accept_from(&self, listener: TcpListener) -> JoinHandle<()> {
        let serving = self.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(connection));
            }
        })
    }

    /// Refuses connections.
    pub async fn refuse(&self) {
        let door = std::mem::take(&mut *self.door.lock().await);
        if let Door::Open(accepting) = door {
            accepting.abort();
            let _ = accepting.await;
        }
    }

    /// Leaves clients waiting for a connection: nothing that they send arrives.
    pub async fn close(&self) {
        self.refuse().await;
        let listener = self.port.listen(1).await;
        let mut queue = Vec::new();
        // A full queue answers no more; a client then waits.
        while let Ok(Ok(waiting)) = tokio::time::timeout(
            Duration::from_millis(300),
            TcpStream::connect(self.port.address),
        )
        .await
        {
            queue.push(waiting);
        }
        *self.door.lock().await = Door::Closed(listener, queue);
    }

    /// Accepts connections again.
    pub async fn open(&self) {
        self.refuse().await;
        let listener = self.port.listen(1024).await;
        *self.door.lock().await = Door::Open(self.accept_from(listener));
    }

    /// The next requests to send are answered by these lies, each once.
    pub fn lie(&self, lies: impl IntoIterator<Item = Lie>) {
        self.state().lies.extend(lies);
    }

    /// Every request to send is answered by this lie, after those of [`Self::lie`].
    pub fn always(&self, lie: Option<Lie>) {
        self.state().always = lie;
    }

    /// Look-ups find nothing, as if the index were behind.
    pub fn hide_accepted(&self, hides: bool) {
        self.state().hides = hides;
    }

    /// Lets stalled requests continue, and later ones too.
    pub fn release(&self) {
        self.gate.send_replace(true);
    }

    /// Stalls again.
    pub fn stall(&self) {
        self.gate.send_replace(false);
    }

    /// Everything that was accepted. A repetition that was recognised by its key is not
    /// accepted again.
    pub fn accepted(&self) -> Vec<Accepted> {
        self.state().accepted.clone()
    }

    /// How often a mail with this key was accepted.
    pub fn accepted_times(&self, key: &str) -> usize {
        let state = self.state();
        state.accepted.iter().filter(|mail| mail.key == key).count()
    }

    /// How many requests to send have arrived.
    pub fn requests(&self) -> usize {
        self.state().requests
    }

    /// The idempotency keys and the bodies of all requests to send, in their order.
    pub fn bodies(&self) -> Vec<(String, String)> {
        self.state().bodies.clone()
    }

    /// The heads of all requests, look-ups included, in their order.
    pub fn heads(&self) -> Vec<String> {
        self.state().heads.clone()
    }

    /// Waits until so many requests to send have arrived.
    pub async fn arrived(&self, count: usize) {
        let mut arrivals = self.arrivals.subscribe();
        let arriving = arrivals.wait_for(|arrived| *arrived >= count);
        let arrived = tokio::time::timeout(Duration::from_secs(30), arriving).await;
        assert!(arrived.is_ok(), "{count} requests did not arrive");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    async fn serve(self, connection: TcpStream) {
        let mut exchange = Exchange::new(connection);
        let Some(head) = exchange.read_head().await else {
            return;
        };
        self.state().heads.push(head.clone());
        let provider = match Asked::of(&head) {
            Some(Asked::Send(provider)) => provider,
            Some(Asked::LookUp(provider)) => {
                let accepted = self.state().view();
                exchange.answer(&provider.look_up(&head, &accepted)).await;
                return;
            }
            None => {
                exchange.answer(&Reply::text(404, "{}")).await;
                return;
            }
        };
        let lie = {
            let mut state = self.state();
            state.requests += 1;
            let always = state.always.clone();
            state.lies.pop_front().or(always)
        };
        self.arrivals.send_modify(|arrived| *arrived += 1);
        self.send(exchange, provider, lie).await;
    }

    async fn send(self, mut exchange: Exchange, provider: Provider, lie: Option<Lie>) {
        match &lie {
            Some(Lie::ResetBeforeBody) => return exchange.reset(),
            Some(Lie::ResetInBody) => {
                exchange.read_half().await;
                return exchange.reset();
            }
            Some(Lie::StallBeforeReading) => self.released().await,
            _ => {}
        }
        let Some(body) = exchange.read_body().await else {
            return;
        };
        let key = provider.idempotency_key(&exchange.head, &body);
        self.state().bodies.push((key.clone(), body.clone()));
        let error = self.state().errors.get(&(provider, key.clone())).cloned();
        if let (None, Some(error)) = (&lie, error) {
            return exchange.answer(&error).await;
        }
        match &lie {
            Some(Lie::Silence) => return exchange.stay_silent().await,
            Some(Lie::Answer(status, body)) => {
                let reply = Reply::text(*status, body);
                self.keep_error(provider, key, &reply);
                return exchange.answer(&reply).await;
            }
            Some(Lie::StallBeforeAccepting) => self.released().await,
            _ => {}
        }
        let reply = provider.accept(&exchange.head, &body, &mut self.state().accepted);
        match lie {
            Some(Lie::ErrorAfterAccepting) => {
                let error = Reply::text(500, "{}");
                self.keep_error(provider, key, &error);
                exchange.answer(&error).await;
            }
            Some(Lie::GarbageAfterAccepting) => {
                exchange.answer(&Reply::text(200, "<html>ok</html>")).await;
            }
            Some(Lie::ResetAfterAccepting) => exchange.reset(),
            Some(Lie::SilenceAfterAccepting) => exchange.stay_silent().await,
            Some(Lie::StallAfterAccepting) => {
                self.released().await;
                exchange.answer(&reply).await;
            }
            _ => exchange.answer(&reply).await,
        }
    }

    fn keep_error(&self, provider: Provider, key: String, reply: &Reply) {
        if provider.keeps_errors() && reply.status >= 400 {
            let mut state = self.state();
            state.errors.insert((provider, key), reply.clone());
        }
    }

    async fn released(&self) {
        let mut gate = self.gate.subscribe();
        let _ = gate.wait_for(|open| *open).await;
    }
}

impl State {
    /// What a look-up sees.
    fn view(&self) -> Vec<Accepted> {
        if self.hides {
            Vec::new()
        } else {
            self.accepted.clone()
        }
    }
}
