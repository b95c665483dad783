//! The shape of the configuration. `deploy/default.toml` says what each key means.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use feed::KeySettings;
use pipeline::InboundRule;
use providers::SourceSettings;
use secrecy::{ExposeSecret, SecretString};
use send::{SenderSettings, TemplateSettings};
use serde::Deserialize;

use super::sending::{Reply, Send};
use super::span::Span;

/// The whole configuration: parsed, its values not checked yet.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) data: Data,
    pub(crate) seal: Seal,
    pub(crate) database: Database,
    pub(crate) queue: Queue,
    pub(crate) webhook: Webhook,
    pub(crate) worker: Worker,
    pub(crate) extract: Extract,
    pub(crate) inbox: Inbox,
    pub(crate) sender: Sender,
    pub(crate) attempt: Attempt,
    pub(crate) feed: Feed,
    pub(crate) poll: Poll,
    pub(crate) retention: Retention,
    pub(crate) log: Log,
    #[serde(default)]
    pub(crate) source: BTreeMap<String, SourceSettings>,
    #[serde(default)]
    pub(crate) key: BTreeMap<String, KeySettings>,
    #[serde(default)]
    pub(crate) callback: BTreeMap<String, Callback>,
    pub(crate) send: Send,
    pub(crate) reply: Reply,
    #[serde(default)]
    pub(crate) rules: Vec<InboundRule>,
    #[serde(default)]
    pub(crate) senders: BTreeMap<String, SenderSettings>,
    #[serde(default)]
    pub(crate) templates: BTreeMap<String, TemplateSettings>,
}

/// The two ways to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// SQLite and an in-process queue.
    Embedded,
    /// Postgres, and a broker when the roles are several processes.
    Full,
}

impl Profile {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Full => "full",
        }
    }
}

impl Config {
    /// The profile that the configuration selects.
    pub(crate) fn profile(&self) -> Profile {
        if self.database.url.expose_secret().starts_with("postgres") {
            Profile::Full
        } else {
            Profile::Embedded
        }
    }

    /// The database to open: the configured one, or the data directory's own.
    pub(crate) fn database_url(&self) -> SecretString {
        if self.database.url.expose_secret().is_empty() {
            let file = self.data.dir.join("maillatch.db");
            SecretString::from(format!("sqlite:{}", file.display()))
        } else {
            self.database.url.clone()
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) listen: String,
    ops_listen: String,
    pub(crate) hosts: Vec<String>,
    secret: SecretString,
    pub(crate) drain: Span,
    pub(crate) threads: usize,
}

/// How far the operators' port is from the port of `server.listen`.
const OPS_PORT: u16 = 1000;

impl Server {
    /// Whether the address for operators is configured.
    pub(crate) fn has_ops_listen(&self) -> bool {
        !self.ops_listen.is_empty()
    }

    /// The address for operators: the configured one, or this machine's own with a port that
    /// follows from the port of `listen`.
    pub(crate) fn ops_listen(&self) -> String {
        if self.has_ops_listen() {
            return self.ops_listen.clone();
        }
        let port = self.listen.rsplit_once(':').map(|(_, port)| port.parse());
        let port: u16 = port.and_then(Result::ok).unwrap_or(0);
        // A port near the end of the range has its neighbour below.
        let port = match port {
            0 => 0,
            port => port.checked_add(OPS_PORT).unwrap_or(port - OPS_PORT),
        };
        format!("127.0.0.1:{port}")
    }

    pub(crate) fn secret(&self) -> &str {
        self.secret.expose_secret()
    }

    pub(crate) fn set_secret(&mut self, secret: String) {
        self.secret = SecretString::from(secret);
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seal {
    pub(crate) file: PathBuf,
    pub(crate) keys: Vec<SecretString>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Database {
    pub(crate) url: SecretString,
    pub(crate) direct_url: SecretString,
    pub(crate) max_connections: u32,
    pub(crate) acquire_timeout: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queue {
    pub(crate) url: SecretString,
    pub(crate) ca_file: String,
    pub(crate) name: String,
    pub(crate) prefetch: u16,
    pub(crate) capacity: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Webhook {
    pub(crate) body_limit: usize,
    pub(crate) body_timeout: Span,
    pub(crate) in_flight_bytes: usize,
    pub(crate) commit_timeout: Span,
    pub(crate) committers: usize,
    pub(crate) commit_batch: usize,
    pub(crate) trusted_proxies: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Worker {
    pub(crate) concurrency: usize,
    pub(crate) lease: Span,
    pub(crate) parse_budget: Span,
    pub(crate) fetch_budget: Span,
    pub(crate) fetch_retry_first: Span,
    pub(crate) fetch_retry_ceiling: Span,
    pub(crate) fetch_retry_wall_clock: Span,
    pub(crate) retry_first: Span,
    pub(crate) retry_factor: u32,
    pub(crate) retry_ceiling: Span,
    pub(crate) retry_attempts: u32,
    pub(crate) retry_wall_clock: Span,
    pub(crate) sweep_every: Span,
    pub(crate) ring_patience: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inbox {
    pub(crate) domains: Vec<String>,
    pub(crate) allow_links: Vec<String>,
    pub(crate) lifetime: Span,
    pub(crate) same_value_window: Span,
    pub(crate) mint_domain: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extract {
    pub(crate) threshold: u8,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sender {
    pub(crate) dkim: bool,
    pub(crate) dns: Vec<String>,
    pub(crate) budget: Span,
    pub(crate) require_verified: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attempt {
    pub(crate) longest: Span,
    pub(crate) links: Vec<String>,
    pub(crate) unhealthy_after: Span,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Callback {
    pub(crate) url: String,
    pub(crate) secret: SecretString,
    pub(crate) timeout: Option<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feed {
    pub(crate) wait_limit: Span,
    pub(crate) max_waits: usize,
    pub(crate) replay_window: Span,
    pub(crate) reads_per_minute: NonZeroU32,
    pub(crate) consumes_per_minute: NonZeroU32,
    pub(crate) failed_consumes_per_minute: NonZeroU32,
    pub(crate) attempts_per_minute: NonZeroU32,
    pub(crate) unauthenticated_per_minute: NonZeroU32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Poll {
    pub(crate) every: Span,
    pub(crate) patience: Span,
    pub(crate) lease: Span,
    pub(crate) pages: usize,
    pub(crate) round_budget: Span,
    pub(crate) answer_budget: Span,
    pub(crate) silence: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retention {
    pub(crate) expired_values: Span,
    pub(crate) bodies: Span,
    pub(crate) buried_bodies: Span,
    pub(crate) max_bytes: u64,
    pub(crate) items: Span,
    pub(crate) consumes: Span,
    pub(crate) every: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) filter: String,
    pub(crate) format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    Auto,
    Text,
    Json,
}
