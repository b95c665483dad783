//! A private PostgreSQL, PgBouncer, RabbitMQ, Dovecot or aiosmtpd, run by `tests/services`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, process};

use uuid::Uuid;

/// The URL of the shared test server in the environment variable `variable`. Without it the
/// test fails; it is not skipped.
#[track_caller]
pub fn shared_url(variable: &str) -> String {
    match env::var(variable) {
        Ok(url) if !url.is_empty() => url,
        _ => panic!(
            "{variable} is not set: run the tests with tests/run, which starts the servers they need"
        ),
    }
}

/// A private server of one test. Dropping it kills it and deletes its data.
#[derive(Debug)]
pub struct Server {
    kind: &'static str,
    directory: PathBuf,
    url: String,
}

impl Server {
    /// Starts a PostgreSQL and waits until it is ready.
    #[track_caller]
    pub fn postgres() -> Self {
        Self::new("postgres", &[])
    }

    /// Starts a `PgBouncer` in transaction mode before a PostgreSQL, and waits until it is
    /// ready.
    #[track_caller]
    pub fn pgbouncer(postgres_url: &str) -> Self {
        Self::new("pgbouncer", &[postgres_url])
    }

    /// Starts a RabbitMQ and waits until it is ready.
    #[track_caller]
    pub fn rabbitmq() -> Self {
        Self::new("rabbitmq", &[])
    }

    /// Starts a Dovecot and waits until it is ready.
    #[track_caller]
    pub fn dovecot() -> Self {
        Self::new("dovecot", &[])
    }

    /// Starts an aiosmtpd, an SMTP server that keeps what it accepts in the Maildir
    /// `mail/box`, and waits until it is ready.
    #[track_caller]
    pub fn aiosmtpd() -> Self {
        Self::new("aiosmtpd", &[])
    }

    #[track_caller]
    fn new(kind: &'static str, arguments: &[&str]) -> Self {
        let name = format!(
            "maillatch-{kind}-{}-{}",
            process::id(),
            // Short, because the length of socket paths is limited.
            Uuid::new_v4().simple().to_string().split_at(8).0
        );
        let directory = env::temp_dir().join(name);
        let mut server = Self {
            kind,
            directory,
            url: String::new(),
        };
        server.url = server.run("start", arguments);
        server
    }

    /// Its URL; the same after a restart.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The directory of its data.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts it again with its data and waits until it is ready.
    #[track_caller]
    pub fn start(&mut self) {
        self.url = self.run("start", &[]);
    }

    /// Stops it cleanly.
    #[track_caller]
    pub fn stop(&self) {
        self.run("stop", &[]);
    }

    /// Ends it with SIGKILL.
    #[track_caller]
    pub fn kill(&self) {
        self.run("kill", &[]);
    }

    /// Runs `rabbitmqctl` on it and returns what it prints.
    #[track_caller]
    pub fn ctl(&self, arguments: &[&str]) -> String {
        self.run("ctl", arguments)
    }

    #[track_caller]
    fn run(&self, act: &str, arguments: &[&str]) -> String {
        let output = self.command(act, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{act} {}: {said}", self.kind);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[track_caller]
    fn command(&self, act: &str, arguments: &[&str]) -> Output {
        let script = script();
        let output = Command::new(&script)
            .args([act, self.kind])
            .arg(&self.directory)
            .args(arguments)
            .output();
        match output {
            Ok(output) => output,
            Err(error) => panic!("cannot run {}: {error}", script.display()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // This may run while a failing test unwinds: it must not panic again.
        for act in ["kill", "stop"] {
            let command = Command::new(script())
                .args([act, self.kind])
                .arg(&self.directory)
                .output();
            drop(command);
        }
        drop(fs::remove_dir_all(&self.directory));
    }
}

fn script() -> PathBuf {
    match env::var_os("TEST_SERVICES") {
        Some(path) => path.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/services"),
    }
}
