//! A small SMTP server on loopback that counts what it accepts and fails where a test
//! tells it to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::mail_provider::send_key;

/// Where a session fails. A session is honest unless told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpFault {
    /// Closes instead of greeting.
    CutAtGreeting,
    /// Closes instead of answering `DATA`.
    CutAtData,
    /// Closes after the first lines of the message.
    CutInMessage,
    /// Closes after the last line of the message, when the final dot has arrived and
    /// before the mail is accepted.
    CutAtDot,
    /// Accepts the mail and closes without an answer.
    CutAfterDot,
    /// Accepts the mail and answers never.
    SilenceAfterDot,
    /// Accepts the mail and answers with something that is no answer.
    GarbageAfterDot,
    /// Accepts the mail, waits for [`SmtpServer::release`], and then answers.
    StallAfterDot,
    /// Answers `AUTH` with this code.
    Login(u16),
    /// Answers `RCPT` with this code.
    Recipient(u16),
    /// Answers the final dot with this code and accepts nothing.
    Dot(u16),
}

/// The server. Clones share their state.
#[derive(Clone)]
pub struct SmtpServer {
    /// Its port on 127.0.0.1.
    pub port: u16,
    faults: Arc<Mutex<VecDeque<SmtpFault>>>,
    accepted: Arc<Mutex<Vec<String>>>,
    dots: Arc<watch::Sender<usize>>,
    gate: Arc<watch::Sender<bool>>,
}

impl SmtpServer {
    /// An honest server.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server = Self {
            port: listener.local_addr().expect("an address").port(),
            faults: Arc::default(),
            accepted: Arc::default(),
            dots: Arc::new(watch::Sender::new(0)),
            gate: Arc::new(watch::Sender::new(false)),
        };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(connection));
            }
        });
        server
    }

    /// The next sessions have these faults, one each.
    pub fn fail(&self, faults: impl IntoIterator<Item = SmtpFault>) {
        lock(&self.faults).extend(faults);
    }

    /// The messages that were accepted.
    pub fn accepted(&self) -> Vec<String> {
        lock(&self.accepted).clone()
    }

    /// How often a mail with this key was accepted.
    pub fn accepted_times(&self, key: &str) -> usize {
        let accepted = lock(&self.accepted);
        let has_key = |message: &&String| send_key(message).as_deref() == Some(key);
        accepted.iter().filter(has_key).count()
    }

    /// Waits until so many final dots have arrived.
    pub async fn dotted(&self, count: usize) {
        let mut dots = self.dots.subscribe();
        let arriving = dots.wait_for(|dots| *dots >= count);
        let arrived = tokio::time::timeout(Duration::from_secs(30), arriving).await;
        assert!(arrived.is_ok(), "{count} final dots did not arrive");
    }

    /// Lets stalled sessions continue.
    pub fn release(&self) {
        self.gate.send_replace(true);
    }

    async fn serve(self, connection: TcpStream) {
        let fault = lock(&self.faults).pop_front();
        if fault == Some(SmtpFault::CutAtGreeting) {
            return;
        }
        let mut connection = BufReader::new(connection);
        let _ = self.session(&mut connection, fault).await;
    }

    async fn session(
        &self,
        connection: &mut BufReader<TcpStream>,
        fault: Option<SmtpFault>,
    ) -> std::io::Result<()> {
        say(connection, "220 fake ready").await?;
        loop {
            let mut line = String::new();
            if connection.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let command = line.to_ascii_uppercase();
            let answer = match command.split([' ', '\r']).next().unwrap_or_default() {
                "EHLO" => "250-fake\r\n250 AUTH PLAIN LOGIN".to_owned(),
                "AUTH" => match fault {
                    Some(SmtpFault::Login(code)) => format!("{code} no"),
                    _ => "235 ok".to_owned(),
                },
                "QUIT" => return say(connection, "221 bye").await,
                "RCPT" => match fault {
                    Some(SmtpFault::Recipient(code)) => format!("{code} no"),
                    _ => "250 ok".to_owned(),
                },
                "DATA" if fault == Some(SmtpFault::CutAtData) => return Ok(()),
                "DATA" => {
                    say(connection, "354 go on").await?;
                    if !self.message(connection, fault).await? {
                        return Ok(());
                    }
                    continue;
                }
                _ => "250 ok".to_owned(),
            };
            say(connection, &answer).await?;
        }
    }

    /// Reads a message and answers its dot. False: the session ends.
    async fn message(
        &self,
        connection: &mut BufReader<TcpStream>,
        fault: Option<SmtpFault>,
    ) -> std::io::Result<bool> {
        let mut message = String::new();
        loop {
            let mut line = String::new();
            if connection.read_line(&mut line).await? == 0 {
                return Ok(false);
            }
            if line == ".\r\n" {
                break;
            }
            if fault == Some(SmtpFault::CutInMessage) && message.lines().count() > 3 {
                return Ok(false);
            }
            message.push_str(line.strip_prefix('.').unwrap_or(&line));
        }
        match fault {
            Some(SmtpFault::CutAtDot) => return Ok(false),
            Some(SmtpFault::Dot(code)) => {
                say(connection, &format!("{code} no")).await?;
                return Ok(true);
            }
            _ => {}
        }
        let number = {
            let mut accepted = lock(&self.accepted);
            accepted.push(message);
            accepted.len()
        };
        self.dots.send_modify(|dots| *dots += 1);
        match fault {
            Some(SmtpFault::CutAfterDot) => return Ok(false),
            Some(SmtpFault::SilenceAfterDot) => {
                let mut rest = String::new();
                let _ = connection.read_line(&mut rest).await;
                return Ok(false);
            }
            Some(SmtpFault::StallAfterDot) => {
                let mut gate = self.gate.subscribe();
                let _ = gate.wait_for(|open| *open).await;
            }
            Some(SmtpFault::GarbageAfterDot) => {
                say(connection, "what").await?;
                return Ok(false);
            }
            _ => {}
        }
        say(connection, &format!("250 2.0.0 Ok: queued as FAKE{number}")).await?;
        Ok(true)
    }
}

async fn say(connection: &mut BufReader<TcpStream>, line: &str) -> std::io::Result<()> {
    let line = format!("{line}\r\n");
    connection.get_mut().write_all(line.as_bytes()).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic")
}
