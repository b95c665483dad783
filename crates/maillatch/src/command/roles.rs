//! `up`, `webhook`, `worker`, `feed`: serve until stopped.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use secrecy::SecretString;
use serde_json::json;

use crate::cli::Serve;
use crate::config::{Config, Profile};
use crate::dev::{self, DevEnv};
use crate::secrets::settle_key_file;
use crate::serve::{Roles, Serving};
use crate::telemetry;
use crate::wire::{check_separate_role, wire};

pub(crate) async fn run(args: Serve, roles: Roles) -> Result<ExitCode> {
    let began = Instant::now();
    let mut config = args.place.load(args.listen.as_deref())?;
    telemetry::start(&config.log.filter, config.log.format)?;
    let mut dev = None;
    if roles.is_separate() {
        check_separate_role(&config)?;
    } else if config.profile() == Profile::Embedded {
        dev = Some(settle_in(&mut config)?);
    }
    let profile = config.profile();
    let serving = Serving::start(wire(config).await?, roles)?;
    let url = format!("http://{}", serving.address());
    if let Some(dev) = &mut dev {
        dev.served_at(&url)?;
    }
    let ready = Ready {
        roles,
        profile,
        address: serving.address(),
        began,
    };
    ready.announce(dev.as_ref(), args.json)?;
    serving.until_stopped().await?;
    Ok(ExitCode::SUCCESS)
}

/// Gives the embedded profile what was not configured: a server secret, and a
/// source and a key for development when there are none.
fn settle_in(config: &mut Config) -> Result<DevEnv> {
    let dev = DevEnv::open(&config.data.dir)?;
    if config.server.secret().is_empty() {
        config.server.set_secret(dev.server_secret().to_owned());
    }
    settle_key_file(config)?;
    let uses_dev_secrets = config.source.is_empty() || config.key.is_empty();
    if uses_dev_secrets && !is_loopback(&config.server.listen)? {
        bail!(
            "{} is reachable from other machines: configure a source and a key of your own first \
             (see deploy/default.toml), or listen on 127.0.0.1",
            config.server.listen
        );
    }
    if config.source.is_empty() {
        let secret = SecretString::from(dev.get(dev::SIGNING_SECRET).unwrap_or_default());
        let source = providers::SourceSettings::standard_webhooks([secret]);
        config.source.insert("dev".to_owned(), source);
    }
    if config.key.is_empty() {
        let key = feed::KeySettings {
            token: Some(SecretString::from(dev.get(dev::KEY).unwrap_or_default())),
            hash: None,
            inboxes: vec!["*".to_owned()],
            scopes: pipeline::Permission::ALL
                .map(|one| one.as_str().to_owned())
                .to_vec(),
        };
        config.key.insert("dev".to_owned(), key);
    }
    Ok(dev)
}

fn is_loopback(listen: &str) -> Result<bool> {
    let mut addresses = listen
        .to_socket_addrs()
        .with_context(|| format!("`{listen}` is not an address to listen on"))?;
    Ok(addresses.all(|address| address.ip().is_loopback()))
}

/// What is said when requests are taken, and not before.
struct Ready {
    roles: Roles,
    profile: Profile,
    address: SocketAddr,
    began: Instant,
}

impl Ready {
    fn announce(&self, dev: Option<&DevEnv>, as_json: bool) -> Result<()> {
        if as_json {
            let line = json!({
                "event": "ready",
                "role": self.roles.name,
                "profile": self.profile.name(),
                "http": self.address.to_string(),
                "url": format!("http://{}", self.address),
                "ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "{line}")?;
            stdout.flush()?;
        }
        let mut stderr = std::io::stderr().lock();
        self.tell(&mut stderr, dev)?;
        Ok(())
    }

    fn tell(&self, out: &mut impl Write, dev: Option<&DevEnv>) -> std::io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let url = format!("http://{}", self.address);
        let name = self.profile.name();
        writeln!(
            out,
            "maillatch {version}  {}  {name} profile",
            self.roles.name
        )?;
        if let Some(dev) = dev {
            writeln!(out)?;
            writeln!(
                out,
                "  Webhook    {url}/hooks/dev      Standard Webhooks; secret in {}",
                dev.path().display()
            )?;
            writeln!(
                out,
                "  Agent API  {url}/v1             key in the same file"
            )?;
            writeln!(out, "  Health     {url}/readyz         metrics at /metrics")?;
            writeln!(out)?;
            writeln!(out, "  Try, in another terminal:   maillatch trigger otp")?;
            writeln!(out, "                              maillatch wait code")?;
            writeln!(
                out,
                "  From a checkout, write `cargo run --release --` for `maillatch`."
            )?;
            writeln!(out)?;
        }
        writeln!(
            out,
            "Ready on {url} after {} ms. Ctrl-C stops; data is kept.",
            self.began.elapsed().as_millis()
        )
    }
}
