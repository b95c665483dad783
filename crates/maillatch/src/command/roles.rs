//! `up`, `webhook`, `worker`, `feed`, `poll`, `send`: serve until stopped.

mod banner;

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;

use crate::config::{Config, ConfigArgs, MintDomain, Profile};
use crate::dev::DevEnv;
use crate::secrets::prepare_key_file;
use crate::serve::{Role, Roles, Serving};
use crate::shutdown::StopSignals;
use crate::telemetry;
use crate::wire::{check_separate_role, wire};

use banner::Banner;

/// How to serve.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "\
Examples:
  maillatch up --listen 127.0.0.1:0 --json
  MAILLATCH_DATABASE__URL_FILE=database_url MAILLATCH_QUEUE__URL_FILE=queue_url maillatch worker")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    config_args: ConfigArgs,
    /// The address to serve HTTP on; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Print one JSON line on standard output when ready.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: ServeArgs, roles: Roles) -> Result<ExitCode> {
    let began = Instant::now();
    let mut config = args.config_args.load(args.listen.as_deref())?;
    telemetry::start(&config.log.filter, config.log.format)?;
    let mut defaults = None;
    if roles.is_separate() {
        check_separate_role(&config)?;
    } else if config.profile() == Profile::Embedded {
        defaults = Some(fill_in_defaults(&mut config)?);
    }
    let profile = config.profile();
    let parts = Box::pin(wire(config)).await?;
    if roles.has(Role::Feed)
        && let MintDomain::Dead(why) = MintDomain::of(&parts.config, &parts.sources)
    {
        tracing::warn!("no fresh address is handed out: {why}");
    }
    let banner = Banner::of(&parts, roles, defaults.as_ref());
    let serving = Serving::start(parts, roles)?;
    if let Some(defaults) = &mut defaults {
        defaults
            .dev
            .save_url(&format!("http://{}", serving.address()))?;
    }
    let ready = Ready {
        roles,
        profile,
        address: serving.address(),
        ops: serving.ops_address(),
        began,
    };
    // A process that has read the ready line may send a signal at once.
    let signals = StopSignals::listen();
    ready.announce(&banner, args.json)?;
    serving.until_stopped(signals).await?;
    Ok(ExitCode::SUCCESS)
}

/// What the embedded profile uses because the configuration does not have it.
struct DevDefaults {
    dev: DevEnv,
    /// Whether the source is the development source.
    has_source: bool,
    /// Whether the key is the development key.
    has_key: bool,
}

/// Completes the configuration of the embedded profile: a server secret, and the
/// development source and key when no others are configured.
fn fill_in_defaults(config: &mut Config) -> Result<DevDefaults> {
    let (has_source, has_key) = (config.source.is_empty(), config.key.is_empty());
    let dev = DevEnv::open(&config.data.dir, has_source, has_key)?;
    if config.server.secret().is_empty() {
        config.server.set_secret(dev.server_secret().to_owned());
    }
    prepare_key_file(config)?;
    if (has_source || has_key) && !is_loopback(&config.server.listen)? {
        bail!(
            "other machines can reach {}, and the development source and key are for this machine \
             only; configure a source and a key (see deploy/default.toml), or listen on 127.0.0.1",
            config.server.listen
        );
    }
    if has_source {
        config.source.insert(DevEnv::NAME.to_owned(), dev.source());
    }
    if has_key {
        config.key.insert(DevEnv::NAME.to_owned(), dev.key());
    }
    Ok(DevDefaults {
        dev,
        has_source,
        has_key,
    })
}

fn is_loopback(listen: &str) -> Result<bool> {
    let mut addresses = listen
        .to_socket_addrs()
        .with_context(|| format!("`{listen}` is not an address to listen on"))?;
    Ok(addresses.all(|address| address.ip().is_loopback()))
}

/// What a server prints once it accepts requests.
struct Ready {
    roles: Roles,
    profile: Profile,
    address: SocketAddr,
    /// The operators' listener.
    ops: Option<SocketAddr>,
    began: Instant,
}

impl Ready {
    fn announce(&self, banner: &Banner, as_json: bool) -> Result<()> {
        if as_json {
            let line = json!({
                "event": "ready",
                "role": self.roles.name,
                "profile": self.profile.name(),
                "http": self.address.to_string(),
                "url": format!("http://{}", self.address),
                "ops_url": self.ops.map(|ops| format!("http://{ops}")),
                "ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "{line}")?;
            stdout.flush()?;
        }
        let mut stderr = std::io::stderr().lock();
        let url = format!("http://{}", self.address);
        let ops = self.ops.map(|ops| format!("http://{ops}"));
        banner.print(&mut stderr, &url, ops.as_deref())?;
        writeln!(
            stderr,
            "Ready on {url} after {} ms. Ctrl-C stops; data is kept.",
            self.began.elapsed().as_millis()
        )?;
        Ok(())
    }
}
