//! The flags that say where the configuration comes from.

use std::path::PathBuf;

use clap::Args;

use super::layers::{Flags, load};
use super::settings::Config;

/// Where the configuration comes from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfigArgs {
    /// A TOML file with settings; the keys are those of the defaults file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The Postgres database of the full profile. A URL with a password belongs in a
    /// file named by `MAILLATCH_DATABASE__URL_FILE`: every user of the machine sees flags.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// The RabbitMQ broker of the full profile. A URL with a password belongs in a file
    /// named by `MAILLATCH_QUEUE__URL_FILE`.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) amqp_url: Option<String>,
    /// The data directory of the embedded profile.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl ConfigArgs {
    /// Loads the configuration of this process; `listen` overrides every other layer.
    pub(crate) fn load(&self, listen: Option<&str>) -> anyhow::Result<Config> {
        let mut flags = Flags::default();
        flags.set("server", "listen", listen.map(str::to_owned));
        flags.set("database", "url", self.database_url.clone());
        flags.set("queue", "url", self.amqp_url.clone());
        let dir = self.data_dir.as_ref().map(|dir| dir.display().to_string());
        flags.set("data", "dir", dir);
        load(self.config.as_deref(), &flags)
    }
}
