//! A fake provider API on loopback: a test sets its answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One answer: a status, extra header lines, a body.
pub type Answer = (u16, String, Vec<u8>);

/// An HTTP server with preset answers.
#[derive(Clone)]
pub struct Api {
    /// Its URL.
    pub url: String,
    answers: Arc<Mutex<BTreeMap<String, Vec<Answer>>>>,
    /// Every request head that it received.
    pub asked: Arc<Mutex<Vec<String>>>,
}

impl Api {
    /// A server that answers 404 to every path without preset answers.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let api = Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            answers: Arc::default(),
            asked: Arc::default(),
        };
        let serving = api.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(connection));
            }
        });
        api
    }

    /// Sets the answers of a path: each is used once, the last one repeatedly.
    pub fn on(&self, path: &str, answers: Vec<Answer>) {
        self.answers
            .lock()
            .expect("no panic")
            .insert(path.to_owned(), answers);
    }

    async fn serve(self, mut connection: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match connection.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).expect("text");
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.asked.lock().expect("no panic").push(head);
        let (status, headers, body) = self.answer(&path);
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
        );
        let _ = connection.write_all(head.as_bytes()).await;
        let _ = connection.write_all(&body).await;
    }

    fn answer(&self, path: &str) -> Answer {
        let mut answers = self.answers.lock().expect("no panic");
        match answers.get_mut(path) {
            Some(answers) if answers.len() > 1 => answers.remove(0),
            Some(answers) => answers.first().cloned().unwrap_or_else(nothing),
            None => nothing(),
        }
    }
}

fn nothing() -> Answer {
    (404, String::new(), Vec::new())
}

/// A plain answer.
pub fn ok(body: impl Into<Vec<u8>>) -> Answer {
    (200, String::new(), body.into())
}
