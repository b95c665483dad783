//! `api-key`: who may ask, made and revoked while the service runs.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use feed::KeyOrder;
use pipeline::{ConsumerId, KeyView};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use store::Store;

use crate::config::{Config, ConfigArgs, Profile, Span};
use crate::dev::DevEnv;
use crate::wire::store_settings;

/// Makes, lists and revokes the keys of agents.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch api-key create agent-7
  maillatch api-key create reader --scope feed --inbox agent@inbox.test --expires 30d
  maillatch api-key list
  maillatch api-key revoke agent-7

A key is printed once, when it is made; only its hash is kept. A revoked key is
refused by every process within 2 s. These work on the database, also while a
server runs on it.")]
pub(crate) struct ApiKeyCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    config_args: ConfigArgs,
    /// Print JSON on standard output.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and print it, once.
    #[command(after_help = "\
Examples:
  maillatch api-key create agent-7
  MAILLATCH_KEY=$(maillatch api-key create reader --scope feed --expires 30d)
  maillatch api-key create shared --inbox agent@inbox.test --json")]
    Create {
        /// The consumer that it speaks for; what it opens is its own.
        name: String,
        /// What it may do: attempt, feed, consume, operator; all but the last
        /// if nothing is said.
        #[arg(long = "scope", value_delimiter = ',', value_name = "SCOPE")]
        scopes: Vec<String>,
        /// An inbox that it may see besides its own; `*` for all.
        #[arg(long = "inbox", value_name = "ADDRESS")]
        inboxes: Vec<String>,
        /// For how long it is good, such as 30d; without end if nothing is said.
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
    },
    /// List every key, also those that are over; never a token.
    #[command(after_help = "\
Examples:
  maillatch api-key list
  maillatch api-key list --json --config /etc/maillatch.toml")]
    List,
    /// Revoke the key of a name.
    #[command(after_help = "\
Example:
  maillatch api-key revoke agent-7

One that stands in the configuration is not revoked here, and says so.")]
    Revoke {
        /// The consumer that it speaks for.
        name: ConsumerId,
    },
}

pub(crate) async fn run(args: ApiKeyCommand) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let settings = store_settings(&config)?.as_guest();
    let store = store::open(&settings)
        .await
        .context("failed to open the database")?;
    let outcome = act(&config, &store, args.action, args.json).await;
    store.close().await;
    outcome
}

async fn act(config: &Config, store: &Store, action: Action, as_json: bool) -> Result<ExitCode> {
    match action {
        Action::Create {
            name,
            scopes,
            inboxes,
            expires,
        } => {
            if let Some(place) = configured(config, &name) {
                bail!("`{name}` is a key of {place}; take another name");
            }
            let order = KeyOrder {
                name,
                scopes,
                inboxes,
                expires_in: expires.map(|span| span.0),
            };
            create(store, order, as_json).await
        }
        Action::List => list(store, as_json).await,
        Action::Revoke { name } => {
            let place = configured(config, name.as_str());
            revoke(store, &name, place, as_json).await
        }
    }
}

/// Where a key of this name stands that is none of the database's.
fn configured(config: &Config, name: &str) -> Option<&'static str> {
    let is_lent = config.profile() == Profile::Embedded && config.key.is_empty();
    match name {
        _ if config.key.contains_key(name) => Some("the configuration"),
        DevEnv::NAME if is_lent => Some("dev.env in the data directory"),
        _ => None,
    }
}

async fn create(store: &Store, order: KeyOrder, as_json: bool) -> Result<ExitCode> {
    let (token, key) = order.mint()?;
    let name = key.name.clone();
    let Some(view) = store.keys.create_key(key).await?.fresh() else {
        bail!("`{name}` has a key; revoke it first, or take another name");
    };
    let mut out = std::io::stdout().lock();
    if as_json {
        let mut object = as_object(&view);
        if let Some(members) = object.as_object_mut() {
            members.insert("token".to_owned(), token.expose_secret().into());
        }
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{}", token.expose_secret())?;
        let scopes = words(&view);
        eprintln!("key `{name}` ({scopes}); this is the only time it is shown");
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(store: &Store, as_json: bool) -> Result<ExitCode> {
    let keys = store.keys.keys().await?;
    let mut out = std::io::stdout().lock();
    if as_json {
        let items: Vec<Value> = keys.iter().map(as_object).collect();
        writeln!(out, "{}", json!({ "items": items }))?;
    } else if keys.is_empty() {
        eprintln!("no key was made; those of the configuration are not listed");
    }
    for key in keys.iter().filter(|_| !as_json) {
        let inboxes = if key.inboxes.is_empty() {
            "its own".to_owned()
        } else {
            key.inboxes.join(",")
        };
        let used = key.used_at.map_or("never".to_owned(), |at| at.to_string());
        writeln!(
            out,
            "{}  {}  mlk_{}  {}  inboxes {inboxes}  used {used}",
            key.name,
            key.state(),
            key.id,
            words(key)
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn revoke(
    store: &Store,
    name: &ConsumerId,
    place: Option<&str>,
    as_json: bool,
) -> Result<ExitCode> {
    let Some(view) = store.keys.revoke_key(name).await? else {
        match place {
            Some(place) => bail!(
                "`{name}` is a key of {place}, which goes on being accepted: take it out there and \
                 start the server again"
            ),
            None => bail!("`{name}` has no key to revoke"),
        }
    };
    if as_json {
        writeln!(std::io::stdout().lock(), "{}", as_object(&view))?;
    }
    eprintln!("key `{name}` of the database is revoked; every process refuses it within 2 s");
    if let Some(place) = place {
        bail!("`{name}` is also a key of {place}, and that one goes on being accepted");
    }
    Ok(ExitCode::SUCCESS)
}

fn words(key: &KeyView) -> String {
    let scopes: Vec<&str> = key.permissions.iter().map(|one| one.as_str()).collect();
    scopes.join(",")
}

fn as_object(key: &KeyView) -> Value {
    json!({
        "id": key.id,
        "name": key.name.as_str(),
        "scopes": key.permissions,
        "inboxes": key.inboxes,
        "state": key.state(),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "used_at": key.used_at,
    })
}
