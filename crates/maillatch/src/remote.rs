//! Which server a command talks to, and with which secrets. A secret is never a
//! flag: every process of the machine can see flags.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use secrecy::SecretString;
use url::Url;

use crate::dev::{self, DevEnv};
use client::{Connection, Hook};

/// Where a server without configuration listens.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// The server to talk to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Remote {
    /// The server's URL; by default the one that `maillatch up` wrote to the data
    /// directory.
    #[arg(long, global = true, env = dev::URL, value_name = "URL")]
    url: Option<Url>,
    /// The data directory; its `dev.env` is used where `MAILLATCH_URL`,
    /// `MAILLATCH_KEY` or `MAILLATCH_SIGNING_SECRET` is not set.
    #[arg(
        long,
        global = true,
        env = "MAILLATCH_DATA__DIR",
        value_name = "DIR",
        default_value = "maillatch-data"
    )]
    data_dir: PathBuf,
}

impl Remote {
    /// The agent's connection.
    pub(crate) fn connection(&self) -> Result<Connection> {
        Ok(Connection {
            url: self.url()?,
            key: self.secret(dev::KEY)?,
        })
    }

    /// A source's webhook.
    pub(crate) fn hook(&self, source: &str) -> Result<Hook> {
        Ok(Hook::new(&self.url()?, source, self.signing_secret()?)?)
    }

    /// Whether the signing secret is the one that `maillatch up` wrote to the data
    /// directory.
    pub(crate) fn has_saved_secret(&self) -> Result<bool> {
        let is_given = std::env::var_os(dev::SIGNING_SECRET).is_some();
        Ok(!is_given && self.saved(dev::SIGNING_SECRET)?.is_some())
    }

    /// The secret that signs for a source.
    pub(crate) fn signing_secret(&self) -> Result<SecretString> {
        self.secret(dev::SIGNING_SECRET)
    }

    /// The server's URL.
    pub(crate) fn url(&self) -> Result<Url> {
        if let Some(url) = &self.url {
            return Ok(url.clone());
        }
        let saved = self.saved(dev::URL)?;
        let text = saved.as_deref().unwrap_or(DEFAULT_URL);
        text.parse()
            .with_context(|| format!("{} is not a URL", dev::URL))
    }

    /// The absolute data directory, if a local server has written its secrets there and
    /// no URL was given.
    pub(crate) fn local_data_dir(&self) -> Option<PathBuf> {
        let has_key = self.saved(dev::KEY).ok().flatten().is_some();
        let directory = std::path::absolute(&self.data_dir).ok();
        directory.filter(|_| has_key && self.url.is_none())
    }

    fn secret(&self, name: &str) -> Result<SecretString> {
        let value = match std::env::var(name) {
            Ok(value) => Some(value),
            Err(_) => self.saved(name)?,
        };
        value.map(SecretString::from).with_context(|| {
            let dir = self.data_dir.display();
            format!("{name} is not set, and {dir}/dev.env does not have it; set it, or name the data directory of `maillatch up` with --data-dir")
        })
    }

    fn saved(&self, name: &str) -> Result<Option<String>> {
        let env = DevEnv::read(&self.data_dir)?;
        Ok(env.and_then(|env| env.get(name).map(str::to_owned)))
    }
}
