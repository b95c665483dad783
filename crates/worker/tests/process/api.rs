//! A provider's API on loopback: it answers each path with what it was given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One answer: a status, extra header lines, a body.
pub(crate) type Answer = (u16, String, Vec<u8>);

#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) url: String,
    answers: Arc<Mutex<BTreeMap<String, Vec<Answer>>>>,
    /// Every request head, as it came.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Api {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
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

    /// Answers a path so: each answer once, the last one for ever.
    pub(crate) fn on(&self, path: &str, answers: Vec<Answer>) {
        self.answers
            .lock()
            .unwrap()
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
        let head = String::from_utf8(head).unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        self.asked.lock().unwrap().push(head);
        let (status, headers, body) = self.answer(&path);
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
        );
        let _ = connection.write_all(head.as_bytes()).await;
        let _ = connection.write_all(&body).await;
    }

    fn answer(&self, path: &str) -> Answer {
        let mut answers = self.answers.lock().unwrap();
        match answers.get_mut(path) {
            Some(answers) if answers.len() > 1 => answers.remove(0),
            Some(answers) => answers[0].clone(),
            None => (404, String::new(), Vec::new()),
        }
    }
}

/// A plain answer.
pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Answer {
    (200, String::new(), body.into())
}
