//! `deploy/backup`: a deployment is saved, its machine is lost, and another machine goes on
//! with what was restored.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;
use testkit::server::{Server, shared_url};
use testkit::wait;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::harness::binary;

/// A machine: a folder with files and variables, and the processes that run on it.
struct Machine {
    folder: TempDir,
    roles: &'static [&'static str],
    processes: Vec<(&'static str, String, Child)>,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/backup")
}

impl Machine {
    fn new(roles: &'static [&'static str]) -> Self {
        // The client of the product needs it; another test may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            folder: TempDir::new().unwrap(),
            roles,
            processes: Vec::new(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    fn is_full(&self) -> bool {
        self.roles != ["up"]
    }

    /// A command with the variables of this machine.
    fn command(&self, program: &Path, line: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .env("MAILLATCH_CONFIG", self.file("maillatch.toml"))
            .kill_on_drop(true);
        if self.is_full() {
            command
                .env("MAILLATCH_DATABASE__URL_FILE", self.file("database_url"))
                .env("MAILLATCH_SEAL__FILE", self.file("seal.keys"))
                .env("MAILLATCH_SERVER__SECRET_FILE", self.file("server_secret"));
        } else {
            command.env("MAILLATCH_DATA__DIR", self.file("data"));
        }
        command
    }

    async fn backup(&self, act: &str, archive: &Path) -> Output {
        let line = format!("{act} {}", archive.display());
        self.command(&script(), &line).output().await.unwrap()
    }

    async fn start(&mut self) {
        if self.is_full() {
            let migrated = self.command(binary(), "migrate").output().await.unwrap();
            assert!(migrated.status.success(), "{migrated:?}");
        }
        for &role in self.roles {
            let line = format!("{role} --json --listen 127.0.0.1:0");
            let mut process = self
                .command(binary(), &line)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
            let line = wait::soon("a start", lines.next_line()).await.unwrap();
            let ready: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            let url = ready["url"].as_str().unwrap().to_owned();
            self.processes.push((role, url, process));
        }
    }

    /// Ends every process with SIGKILL.
    async fn kill(&mut self) {
        for (_, _, mut process) in self.processes.drain(..) {
            process.kill().await.unwrap();
        }
    }

    /// Runs a command of an agent or a sender against the process that serves it.
    async fn ask(&self, role: &str, line: &str) -> Output {
        let serves = |one: &str| one == role || one == "up";
        let (_, url, _) = self.processes.iter().find(|it| serves(it.0)).unwrap();
        let mut command = self.command(binary(), line);
        command.env("MAILLATCH_URL", url);
        command.env("MAILLATCH_KEY", TOKEN);
        command.env("MAILLATCH_SIGNING_SECRET", SIGNING_SECRET);
        command.output().await.unwrap()
    }

    async fn said(&self, role: &str, line: &str) -> String {
        let output = self.ask(role, line).await;
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Opens an attempt and lets its code arrive. Returns the attempt.
    async fn attempt_with_code(&self) -> String {
        let opened = self.said("feed", "attempt new").await;
        let (attempt, address) = opened.split_once(char::is_whitespace).unwrap();
        let posted = format!("trigger otp --to {}", address.trim());
        self.said("webhook", &posted).await;
        self.said("feed", &format!("attempt wait {attempt} --timeout 60s"))
            .await;
        attempt.to_owned()
    }
}

const TOKEN: &str = "mlk_Zx81pQvT3mN6bR2wK9sD4fH7jL0cYgAe";
const SIGNING_SECRET: &str = "whsec_Zm9ydHktdHdvIGJ5dGVzIHRoYXQgb25seSB0aGlzIHRlc3QgdXNlcw==";

/// The configuration of both profiles.
fn configuration(queue: &str) -> String {
    format!(
        "{queue}source.dev.provider = \"standard-webhooks\"\n\
         source.dev.secrets = [\"{SIGNING_SECRET}\"]\n\
         key.agent = {{ token = \"{TOKEN}\", inboxes = [\"*\"] }}\n"
    )
}

fn is_code(text: &str) -> bool {
    text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Saves `old`, whose processes were killed, and restores it on `new`: what was consumed
/// stays consumed, and what was ready is given out, once.
async fn restored_machine_goes_on(old: Machine, mut new: Machine, [used, ready]: [String; 2]) {
    let place = TempDir::new().unwrap();
    let archive = place.path().join("backup.tar.gz");
    let saved = old.backup("save", &archive).await;
    assert!(saved.status.success(), "{saved:?}");
    let mode = std::fs::metadata(&archive).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
    assert_eq!(mode & 0o777, 0o600);
    drop(old);

    let damaged = place.path().join("damaged.tar.gz");
    let mut bytes = std::fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    let refused = new.backup("restore", &damaged).await;
    assert!(!refused.status.success(), "{refused:?}");

    let restored = new.backup("restore", &archive).await;
    assert!(restored.status.success(), "{restored:?}");
    new.start().await;
    let consume = |attempt: &str| format!("attempt consume {attempt} --timeout 60s");
    let value = new.said("feed", &consume(&ready)).await;
    assert!(is_code(&value), "{value}");
    for attempt in [&used, &ready] {
        let again = new.ask("feed", &consume(attempt)).await;
        assert_eq!(again.status.code(), Some(6), "{again:?}");
    }
    // New mail arrives, too.
    let fresh = new.attempt_with_code().await;
    let value = new.said("feed", &consume(&fresh)).await;
    assert!(is_code(&value), "{value}");
    // It holds what is there now, so it does not write over it.
    let twice = new.backup("restore", &archive).await;
    assert!(!twice.status.success(), "{twice:?}");
    new.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_killed_embedded_server_is_restored_elsewhere() {
    let mut old = Machine::new(&["up"]);
    old.write("maillatch.toml", &configuration(""));
    old.start().await;
    let [used, ready] = [old.attempt_with_code().await, old.attempt_with_code().await];
    old.said("feed", &format!("attempt consume {used}")).await;
    let refused = old.backup("save", &old.file("too_early.tar.gz")).await;
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("stop it first"), "{refused:?}");
    old.kill().await;
    let new = Machine::new(&["up"]);
    restored_machine_goes_on(old, new, [used, ready]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_full_deployment_is_restored_elsewhere() {
    const ROLES: &[&str] = &["webhook", "worker", "feed"];
    // Its database server dies with the machine, too.
    let mut server = Server::postgres();
    let id = uuid::Uuid::now_v7().simple().to_string();
    let amqp = shared_url("TEST_AMQP_URL");
    let database = |server: &str| {
        let mut url = url::Url::parse(server).unwrap();
        url.set_path(&format!("backup_{id}"));
        url.to_string()
    };
    let (lost, other) = (
        database(server.url()),
        database(&shared_url("TEST_DATABASE_URL")),
    );
    for url in [&lost, &other] {
        store::create_database(&url.as_str().into()).await.unwrap();
    }
    let queue = format!("queue.url = \"{amqp}\"\nqueue.name = \"backup_{id}\"\n");

    let mut old = Machine::new(ROLES);
    old.write("maillatch.toml", &configuration(&queue));
    old.write("database_url", &lost);
    let random = || STANDARD.encode(rand::random::<[u8; 32]>());
    old.write("server_secret", &random());
    old.write("seal.keys", &random());
    old.start().await;
    let [used, ready] = [old.attempt_with_code().await, old.attempt_with_code().await];
    old.said("feed", &format!("attempt consume {used}")).await;
    old.kill().await;
    // PostgreSQL is killed as well, and starts again for the backup.
    server.kill();
    server.start();

    let new = Machine::new(ROLES);
    new.write("database_url", &other);
    restored_machine_goes_on(old, new, [used, ready]).await;
    store::drop_database(&other.as_str().into()).await.unwrap();
}
