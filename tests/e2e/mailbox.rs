//! A mailbox on a private Dovecot, and another client that uses it.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use pipeline::{Clock, SystemClock};
use testkit::server::Server;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use url::Url;

/// The user of the mailbox.
const USER: &str = "agent";

pub(crate) struct Mailbox {
    server: Server,
    delivered: usize,
}

impl Mailbox {
    pub(crate) async fn start() -> Self {
        let server = tokio::task::spawn_blocking(Server::dovecot).await.unwrap();
        let mailbox = Self {
            server,
            delivered: 0,
        };
        // The first login creates the Maildir.
        mailbox.client().await.run("STATUS INBOX (MESSAGES)").await;
        mailbox
    }

    /// Its URL, with the user and the password.
    pub(crate) fn url(&self) -> Url {
        Url::parse(self.server.url()).unwrap()
    }

    /// The settings of a source that polls it, as `imap`, `imaps` or
    /// `imap+starttls`.
    pub(crate) fn source(&self, name: &str, scheme: &str) -> String {
        let directory = self.server.directory();
        let port = if scheme == "imaps" {
            std::fs::read_to_string(directory.join("port.tls")).unwrap()
        } else {
            self.url().port().unwrap().to_string()
        };
        let password = self.url().password().unwrap().to_owned();
        let ca = directory.join("cert.pem");
        format!(
            "source.{name} = {{ provider = \"imap\", poll = {{ server = \"{scheme}://localhost:{}\", \
             user = \"{USER}\", password = \"{password}\", ca_file = \"{}\" }} }}\n",
            port.trim(),
            ca.display()
        )
    }

    fn folder(&self) -> PathBuf {
        self.server.directory().join("mail").join(USER)
    }

    /// Delivers a mail as a mail server does: writes a temporary file, then moves it.
    pub(crate) fn deliver(&mut self, mail: &[u8]) {
        self.delivered += 1;
        let name = format!(
            "{}.M{}.test",
            1_794_000_000 + self.delivered,
            self.delivered
        );
        let aside = self.folder().join("tmp").join(&name);
        std::fs::write(&aside, mail).unwrap();
        std::fs::rename(aside, self.folder().join("new").join(name)).unwrap();
    }

    /// Puts this many mails into the mailbox that arrived two hours ago and were read.
    pub(crate) fn fill(&self, mails: usize, mail: impl Fn(usize) -> Vec<u8>) {
        for number in 0..mails {
            self.put_old(1_700_000_000 + number, &mail(number));
        }
    }

    /// Puts one such mail into the mailbox. Among mails without a UID, one with a higher
    /// `rank` gets a higher UID.
    pub(crate) fn put_old(&self, rank: usize, mail: &[u8]) {
        let now = u64::try_from(SystemClock.now().as_seconds()).unwrap();
        let arrived = UNIX_EPOCH + Duration::from_secs(now) - Duration::from_hours(2);
        let name = format!("{rank}.M{rank}.old:2,S");
        let path = self.folder().join("cur").join(name);
        std::fs::write(&path, mail).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(arrived).unwrap();
    }

    /// Another client, logged in and with the inbox selected.
    pub(crate) async fn client(&self) -> Client {
        let address = ("127.0.0.1", self.url().port().unwrap());
        let stream = TcpStream::connect(address).await.unwrap();
        let mut client = Client {
            stream: BufReader::new(stream),
            tag: 0,
        };
        client.line().await;
        let password = self.url().password().unwrap().to_owned();
        client.run(&format!("LOGIN {USER} {password}")).await;
        client.run("SELECT INBOX").await;
        client
    }

    /// Invalidates all UIDs, as restoring a mailbox from a backup does.
    pub(crate) async fn change_uid_validity(&mut self) {
        self.restore(|_| {}).await;
    }

    /// Invalidates all UIDs and adds mails before the server gives out new ones. The new
    /// UIDVALIDITY is a time in seconds, so it may take more than one try.
    pub(crate) async fn restore(&mut self, add: impl FnOnce(&mut Self)) {
        let before = self.client().await.status("UIDVALIDITY").await;
        self.server.stop();
        add(self);
        self.forget_uids();
        self.server.start();
        while self.client().await.status("UIDVALIDITY").await == before {
            self.server.stop();
            self.forget_uids();
            self.server.start();
        }
    }

    fn forget_uids(&self) {
        for entry in std::fs::read_dir(self.folder()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with("dovecot") {
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
}

/// Another client of the mailbox.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    tag: u32,
}

impl Client {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        line
    }

    /// Runs a command and returns the whole answer.
    pub(crate) async fn run(&mut self, command: &str) -> String {
        self.tag += 1;
        let tag = format!("t{} ", self.tag);
        let sent = format!("{tag}{command}\r\n");
        self.stream
            .get_mut()
            .write_all(sent.as_bytes())
            .await
            .unwrap();
        let mut said = String::new();
        loop {
            let line = self.line().await;
            assert!(!line.is_empty(), "the server hung up");
            said.push_str(&line);
            if line.starts_with(&tag) {
                assert!(line.starts_with(&format!("{tag}OK")), "{command}: {said}");
                return said;
            }
        }
    }

    /// A number from `STATUS`.
    pub(crate) async fn status(&mut self, item: &str) -> i64 {
        let said = self.run(&format!("STATUS INBOX ({item})")).await;
        let (_, rest) = said.split_once(&format!("({item} ")).unwrap();
        rest.split(')').next().unwrap().parse().unwrap()
    }
}
