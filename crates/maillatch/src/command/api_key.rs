//! `api-key`: creates and revokes agents' API keys while servers run.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use feed::KeyOrder;
use pipeline::{ConsumerId, KeyView};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use store::Store;

use crate::config::{Config, ConfigArgs, Profile, Span};
use crate::dev::DevEnv;
use crate::wire::open_store_as_guest;

/// Creates, lists and revokes the API keys of agents.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch api-key create agent-7
  maillatch api-key create reader --scope feed --inbox agent@inbox.test --expires 30d
  maillatch api-key list
  maillatch api-key revoke agent-7

A key is printed once, when it is created; only its hash is stored. Every process
refuses a revoked key within 2 s. These commands work on the database, also while
servers run on it.")]
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
    /// Create a key and print it, once.
    #[command(after_help = "\
Examples:
  maillatch api-key create agent-7
  MAILLATCH_KEY=$(maillatch api-key create reader --scope feed --expires 30d)
  maillatch api-key create shared --inbox agent@inbox.test --json")]
    Create {
        /// The consumer's name; attempts and inboxes that it opens belong to it.
        name: String,
        /// What it may do: attempt, feed, consume, operator, send, guard; the default is
        /// the first three.
        #[arg(long = "scope", value_delimiter = ',', value_name = "SCOPE")]
        scopes: Vec<String>,
        /// An inbox that it may see besides its own; `*` for all of them.
        #[arg(long = "inbox", value_name = "ADDRESS")]
        inboxes: Vec<String>,
        /// How long it is valid, such as 30d; without this flag it does not expire.
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
    },
    /// List every key, also revoked and expired ones; tokens are never shown.
    #[command(after_help = "\
Examples:
  maillatch api-key list
  maillatch api-key list --json --config /etc/maillatch.toml")]
    List,
    /// Revoke a key.
    #[command(after_help = "\
Example:
  maillatch api-key revoke agent-7

A key of the configuration cannot be revoked here; the command says so and exits with 1.")]
    Revoke {
        /// The consumer's name.
        name: ConsumerId,
    },
}

pub(crate) async fn run(args: ApiKeyCommand) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let store = open_store_as_guest(&config).await?;
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
                bail!("`{name}` is a key in {place}; choose another name");
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

/// Where a key of this name is defined, if it is not in the database.
fn configured(config: &Config, name: &str) -> Option<&'static str> {
    let uses_dev_key = config.profile() == Profile::Embedded && config.key.is_empty();
    match name {
        _ if config.key.contains_key(name) => Some("the configuration"),
        DevEnv::NAME if uses_dev_key => Some("dev.env in the data directory"),
        _ => None,
    }
}

async fn create(store: &Store, order: KeyOrder, as_json: bool) -> Result<ExitCode> {
    let (token, key) = order.mint()?;
    let name = key.name.clone();
    let Some(view) = store.keys.create_key(key).await?.fresh() else {
        bail!("`{name}` has a key already; revoke it first, or choose another name");
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
        let scopes = scopes(&view);
        eprintln!("key `{name}` ({scopes}); it is shown only this once");
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
        eprintln!("the database has no keys; keys of the configuration are not listed");
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
            scopes(key)
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
                "`{name}` is a key in {place} and stays valid; remove it there and restart the \
                 servers"
            ),
            None => bail!("`{name}` has no key to revoke"),
        }
    };
    if as_json {
        writeln!(std::io::stdout().lock(), "{}", as_object(&view))?;
    }
    eprintln!("key `{name}` is revoked in the database; every process refuses it within 2 s");
    if let Some(place) = place {
        bail!("`{name}` is also a key in {place}; that one stays valid until you remove it there");
    }
    Ok(ExitCode::SUCCESS)
}

fn scopes(key: &KeyView) -> String {
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
