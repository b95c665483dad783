//! A deployment of real processes on this machine: all roles in one process on
//! SQLite, or two processes of each role on Postgres and RabbitMQ. The demo and the
//! end-to-end tests use it; they may kill its processes.

mod process;
mod role;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::try_join_all;
use secrecy::SecretString;
use store::KeyFile;
use url::Url;

pub use process::Process;
pub use role::Role;

use client::{Client, Connection, Hook};

/// The database and the queue of a deployment.
#[derive(Debug, Clone)]
pub enum Backing {
    /// SQLite and an in-process queue: one process.
    Embedded,
    /// Servers that run already: two processes of each role.
    Full {
        /// An existing database.
        database_url: String,
        /// Whether the database has its tables. Otherwise `migrate` makes them.
        is_migrated: bool,
        /// The broker.
        amqp_url: String,
    },
    /// One process, with its data in this directory.
    EmbeddedIn(PathBuf),
}

/// The names of the two consumers of every deployment.
pub const CONSUMERS: [&str; 2] = ["agent-a", "agent-b"];

/// Processes that run together on one database.
pub struct Deployment {
    binary: PathBuf,
    dir: PathBuf,
    backing: Backing,
    secret: String,
    keys: [String; 2],
    processes: Vec<(Vec<Role>, Process)>,
}

impl Deployment {
    /// Writes a configuration into a new directory, prepares the database and starts
    /// every process. `extra` is TOML that is appended to the configuration.
    pub async fn launch(binary: &Path, backing: Backing, extra: &str) -> Result<Self> {
        let name = format!("maillatch-{}", uuid::Uuid::now_v7().simple());
        let dir = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&dir)
            .with_context(|| format!("failed to create {}", dir.display()))?;
        let mut deployment = Self {
            binary: binary.to_owned(),
            dir,
            backing,
            secret: format!("whsec_{}", STANDARD.encode(rand::random::<[u8; 32]>())),
            keys: [feed::Keys::mint(), feed::Keys::mint()],
            processes: Vec::new(),
        };
        deployment.write_config(&name, extra)?;
        deployment.start_all().await?;
        Ok(deployment)
    }

    fn write_config(&self, name: &str, extra: &str) -> Result<()> {
        let [a, b] = &self.keys;
        let [agent_a, agent_b] = CONSUMERS;
        let (database_url, amqp_url) = match &self.backing {
            Backing::Embedded | Backing::EmbeddedIn(_) => ("", ""),
            Backing::Full {
                database_url,
                amqp_url,
                ..
            } => (database_url.as_str(), amqp_url.as_str()),
        };
        let seal_file = match &self.backing {
            Backing::Embedded | Backing::EmbeddedIn(_) => String::new(),
            Backing::Full { .. } => {
                let file = KeyFile::at(self.dir.join("seal.keys"));
                file.create_if_missing()?;
                file.path().display().to_string()
            }
        };
        let server_secret = STANDARD.encode(rand::random::<[u8; 32]>());
        let text = format!(
            "server.secret = \"{server_secret}\"\n\
             data.dir = \"{}\"\n\
             seal.file = \"{seal_file}\"\n\
             database.url = \"{database_url}\"\n\
             queue.url = \"{amqp_url}\"\n\
             queue.name = \"{name}\"\n\
             source.dev.provider = \"standard-webhooks\"\n\
             source.dev.secrets = [\"{}\"]\n\
             key.{agent_a} = {{ token = \"{a}\", inboxes = [\"*\"] }}\n\
             key.{agent_b} = {{ token = \"{b}\", inboxes = [\"*\"] }}\n\
             feed.reads_per_minute = 1000000\n\
             feed.consumes_per_minute = 1000000\n\
             feed.failed_consumes_per_minute = 1000000\n\
             {extra}\n",
            self.data().display(),
            self.secret,
        );
        std::fs::write(self.config(), text).context("failed to write the configuration")
    }

    fn data(&self) -> PathBuf {
        match &self.backing {
            Backing::EmbeddedIn(directory) => directory.clone(),
            Backing::Embedded | Backing::Full { .. } => self.dir.join("data"),
        }
    }

    /// The configuration file of every process.
    pub fn config(&self) -> PathBuf {
        self.dir.join("maillatch.toml")
    }

    async fn start_all(&mut self) -> Result<()> {
        match self.backing {
            Backing::Embedded | Backing::EmbeddedIn(_) => {
                let all = vec![Role::Webhook, Role::Worker, Role::Feed, Role::Poll];
                let process = self.start("up").await?;
                self.processes.push((all, process));
            }
            Backing::Full { is_migrated, .. } => {
                if !is_migrated {
                    let migrate = ["migrate", "--config"];
                    process::run_to_end(&self.binary, &migrate, &self.config()).await?;
                }
                let roles = [Role::Webhook, Role::Worker, Role::Feed];
                let roles = roles.iter().flat_map(|role| [*role, *role]);
                let started = roles.map(async |role| {
                    let process = self.start(role.command()).await?;
                    anyhow::Ok((vec![role], process))
                });
                self.processes = try_join_all(started).await?;
            }
        }
        Ok(())
    }

    /// Starts one more process of a role. The full profile starts without pollers.
    pub async fn add(&mut self, role: Role) -> Result<()> {
        let process = self.start(role.command()).await?;
        self.processes.push((vec![role], process));
        Ok(())
    }

    async fn start(&self, command: &str) -> Result<Process> {
        Process::start(&self.binary, command, &self.config(), &self.dir).await
    }

    /// The secret that signs for the source `dev`.
    pub fn signing_secret(&self) -> SecretString {
        SecretString::from(self.secret.clone())
    }

    /// The token of one of [`CONSUMERS`].
    pub fn key(&self, consumer: usize) -> SecretString {
        let [a, b] = &self.keys;
        SecretString::from(if consumer == 0 { a.clone() } else { b.clone() })
    }

    /// The processes of a role.
    pub fn playing(&self, role: Role) -> impl Iterator<Item = &Process> {
        let has_role = move |(roles, _): &&(Vec<Role>, Process)| roles.contains(&role);
        self.processes
            .iter()
            .filter(has_role)
            .map(|(_, process)| process)
    }

    /// The URL of a role; `which` chooses among several processes.
    pub fn url(&self, role: Role, which: usize) -> Result<Url> {
        let urls: Vec<&Url> = self.playing(role).filter_map(Process::url).collect();
        let url = urls
            .get(which % urls.len().max(1))
            .context("no process has this role")?;
        Ok((*url).clone())
    }

    /// The URL of the operators' listener of the first process of a role.
    pub fn ops_url(&self, role: Role) -> Result<Url> {
        let mut urls = self.playing(role).filter_map(Process::ops_url);
        urls.next().cloned().context("no process has this role")
    }

    /// A sender that posts to one of the webhooks.
    pub fn hook(&self, which: usize) -> Result<Hook> {
        let url = self.url(Role::Webhook, which)?;
        Ok(Hook::new(&url, "dev", self.signing_secret())?)
    }

    /// One of [`CONSUMERS`], at one of the feeds.
    pub fn agent(&self, consumer: usize) -> Result<Client> {
        let connection = Connection {
            url: self.url(Role::Feed, consumer)?,
            key: self.key(consumer),
        };
        Ok(Client::new(connection)?)
    }

    /// Kills every process of a role with SIGKILL.
    pub async fn kill(&mut self, role: Role) -> Result<()> {
        for (roles, process) in &mut self.processes {
            if roles.contains(&role) {
                process.kill().await?;
            }
        }
        Ok(())
    }

    /// Kills one process of a role with SIGKILL; `which` chooses among several.
    pub async fn kill_one(&mut self, role: Role, which: usize) -> Result<()> {
        let count = self.playing(role).count().max(1);
        let has_role = |(roles, _): &&mut (Vec<Role>, Process)| roles.contains(&role);
        let mut chosen = self.processes.iter_mut().filter(has_role);
        let (_, process) = chosen
            .nth(which % count)
            .context("no process has this role")?;
        process.kill().await
    }

    /// Restarts the processes that were killed.
    pub async fn revive(&mut self) -> Result<()> {
        for index in 0..self.processes.len() {
            let Some((roles, process)) = self.processes.get(index) else {
                continue;
            };
            if process.url().is_some() {
                continue;
            }
            let command = match roles.as_slice() {
                [role] => role.command(),
                _ => "up",
            };
            let restarted = self.start(command).await?;
            if let Some((_, process)) = self.processes.get_mut(index) {
                *process = restarted;
            }
        }
        Ok(())
    }

    /// Asks every process to stop and waits for it; fails when one does not exit with 0.
    pub async fn stop(&mut self) -> Result<()> {
        let all = self.processes.iter_mut();
        try_join_all(all.map(|(_, process)| process.stop())).await?;
        Ok(())
    }

    /// Everything that the processes have logged so far.
    pub fn logs(&self) -> Result<String> {
        let mut logs = String::new();
        for entry in std::fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                logs.push_str(&std::fs::read_to_string(path)?);
            }
        }
        Ok(logs)
    }
}

/// A dropped deployment kills its processes and removes its directory.
impl Drop for Deployment {
    fn drop(&mut self) {
        self.processes.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
