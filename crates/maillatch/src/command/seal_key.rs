//! `seal-key`: the keys that encrypt bodies and values in the database.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use store::{KeyFile, KeyId, Sealing, Store};

use crate::config::ConfigArgs;
use crate::secrets::key_file;
use crate::wire::open_store_as_guest;

/// Rows that one transaction encrypts again; a body may have ten megabytes.
const BATCH: u32 = 16;
/// Running processes use a new key within this time. The database refuses later rows
/// under an older key, so this wait only saves those processes a refused commit.
const PROPAGATION: Duration = Duration::from_secs(5);

/// Lists, rotates and retires the keys that encrypt bodies and values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch seal-key list
  maillatch seal-key rotate
  maillatch seal-key rotate --retire --json
  maillatch seal-key retire

`rotate` adds a new key to the first line of the key file and encrypts every row
again, also while servers run on the database: they notice the new file. An
interrupted rotation is finished by the next one. --retire removes keys that no row
needs from the file; backups from before cannot be read any more. From then on the
database refuses rows under a retired key, also from a process that still uses it.
Rows that cannot be opened, because they are damaged or their key is missing, stay
as they are and are counted, and the command exits with 1. If the file is on several
machines, append a new key to every copy first, move it to the first line of each,
and then run `rotate` on one.")]
pub(crate) struct SealKeyCommand {
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
    /// List the keys and how many rows each of them seals.
    #[command(after_help = "\
Example:
  maillatch seal-key list --json")]
    List,
    /// Encrypt every row again under a new key.
    #[command(after_help = "\
Examples:
  maillatch seal-key rotate
  maillatch seal-key rotate --retire --config /etc/maillatch.toml")]
    Rotate {
        /// Remove keys that no row needs any more.
        #[arg(long)]
        retire: bool,
    },
    /// Remove keys that no row needs any more.
    #[command(after_help = "\
Example:
  maillatch seal-key retire --json")]
    Retire,
}

pub(crate) async fn run(args: SealKeyCommand) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let file = key_file(&config).filter(|_| config.seal.keys.is_empty());
    let store = open_store_as_guest(&config).await?;
    let outcome = act(&store, args.action, file, args.json).await;
    store.close().await;
    outcome
}

/// The result of encrypting rows again.
#[derive(Clone, Copy)]
struct Resealed {
    /// Rows that are now sealed with the new key.
    count: u64,
    /// Rows that cannot be opened.
    stuck: u64,
}

async fn act(
    store: &Store,
    action: Action,
    file: Option<KeyFile>,
    as_json: bool,
) -> Result<ExitCode> {
    let also_retire = match action {
        Action::List => return list(store, as_json).await.map(|()| ExitCode::SUCCESS),
        Action::Rotate { retire } => retire,
        Action::Retire => true,
    };
    let Some(file) = file else {
        bail!("the keys are in seal.keys, not in a file; set seal.file instead to rotate them");
    };
    let (key, count) = match action {
        Action::Retire => (first(&file)?, 0),
        Action::List | Action::Rotate { .. } => newest(store, &file).await?,
    };
    let mut outcome = reseal(store, &key).await?;
    outcome.count += count;
    let mut retired = Vec::new();
    if also_retire {
        wait_for_propagation(&file).await?;
        let older = older_keys(&file, &key)?;
        for older in &older {
            store.forbid(older).await?;
        }
        // Rows that were sealed with the old keys before the database refused them.
        let late = reseal(store, &key).await?;
        outcome = Resealed {
            count: outcome.count + late.count,
            ..late
        };
        retired = retire_unused(store, &file, older).await?;
    }
    report(&key, outcome, &retired, as_json)?;
    Ok(if outcome.stuck == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// How many rows each key seals, over all columns.
async fn in_use(store: &Store) -> Result<BTreeMap<String, u64>> {
    let mut rows = BTreeMap::new();
    for column in Sealing::ALL {
        for (key, count) in store.sealed_under(column).await? {
            *rows.entry(key).or_default() += count;
        }
    }
    Ok(rows)
}

async fn list(store: &Store, as_json: bool) -> Result<()> {
    let mut rows = in_use(store).await?;
    let mut out = std::io::stdout().lock();
    let mut items = Vec::new();
    for (place, key) in store.key_names().iter().enumerate() {
        let count = rows.remove(key.as_str()).unwrap_or(0);
        let seals = place == 0;
        items.push(json!({ "key": key.as_str(), "seals": seals, "rows": count }));
        if !as_json {
            let word = if seals { "seals" } else { "opens" };
            writeln!(out, "{key}  {word}  {count} rows")?;
        }
    }
    if as_json {
        writeln!(out, "{}", json!({ "keys": items, "lost": rows }))?;
    }
    for (key, count) in &rows {
        eprintln!("{count} rows are sealed with {key}, which is not in the key file");
    }
    Ok(())
}

fn report(key: &KeyId, outcome: Resealed, retired: &[KeyId], as_json: bool) -> Result<()> {
    let Resealed { count, stuck } = outcome;
    eprintln!(
        "{count} rows sealed again with {key}; {} keys retired",
        retired.len()
    );
    if stuck > 0 {
        eprintln!("{stuck} rows cannot be opened and stay as they are");
    }
    if as_json {
        let retired: Vec<&str> = retired.iter().map(KeyId::as_str).collect();
        let line = json!({
            "key": key.as_str(), "resealed": count, "stuck": stuck, "retired": retired,
        });
        writeln!(std::io::stdout().lock(), "{line}")?;
    }
    Ok(())
}

/// The key to seal with, and how many rows it has sealed already. It is a new key,
/// unless rows under older keys show that the last rotation was interrupted.
async fn newest(store: &Store, file: &KeyFile) -> Result<(KeyId, u64)> {
    let first = first(file)?;
    let is_unfinished = in_use(store).await?.keys().any(|key| key != first.as_str());
    // Rows that cannot be opened must not block every later rotation.
    if is_unfinished {
        let count = reseal(store, &first).await?.count;
        if count > 0 {
            eprintln!("finishing the interrupted rotation to {first}");
            return Ok((first, count));
        }
    }
    Ok((file.put_in_front()?, 0))
}

/// The keys of the file but the one that seals.
fn older_keys(file: &KeyFile, sealing: &KeyId) -> Result<Vec<KeyId>> {
    let keys = file.read()?;
    let others = keys.iter().skip(1).map(|key| key.id().clone());
    Ok(others.filter(|key| key != sealing).collect())
}

fn first(file: &KeyFile) -> Result<KeyId> {
    let keys = file.read()?;
    let first = keys.first().context("the key file has no key")?;
    Ok(first.id().clone())
}

async fn reseal(store: &Store, key: &KeyId) -> Result<Resealed> {
    let older = |rows: &BTreeMap<String, u64>| -> u64 {
        let older = rows.iter().filter(|(name, _)| *name != key.as_str());
        older.map(|(_, count)| count).sum()
    };
    let total = older(&in_use(store).await?);
    let (mut done, mut stuck) = (0, 0);
    for column in Sealing::ALL {
        let mut from = None;
        loop {
            let resealed = store.reseal(column, key, from, BATCH).await?;
            done += resealed.count;
            stuck += resealed.stuck;
            show_progress(done + stuck, total);
            from = resealed.next;
            if from.is_none() {
                break;
            }
        }
    }
    Ok(Resealed { count: done, stuck })
}

/// A progress bar on a terminal.
fn show_progress(done: u64, total: u64) {
    const WIDTH: u64 = 30;
    let mut stderr = std::io::stderr().lock();
    if !stderr.is_terminal() || total == 0 {
        return;
    }
    let filled = (WIDTH * done / total).min(WIDTH);
    let bar: String = (0..WIDTH)
        .map(|at| if at < filled { '#' } else { '.' })
        .collect();
    let end = if done >= total { "\n" } else { "" };
    // A closed terminal does not stop the command.
    let _ = write!(stderr, "\r[{bar}] {done} of {total}{end}");
}

/// Waits until every running process uses the new key.
async fn wait_for_propagation(file: &KeyFile) -> Result<()> {
    let age = file.modified()?.elapsed().unwrap_or_default();
    let rest = PROPAGATION.saturating_sub(age);
    if !rest.is_zero() {
        eprintln!(
            "waiting {} s until every process uses the new key",
            rest.as_secs() + 1
        );
        tokio::time::sleep(rest).await;
    }
    Ok(())
}

/// Removes the forbidden keys that no row needs.
async fn retire_unused(store: &Store, file: &KeyFile, forbidden: Vec<KeyId>) -> Result<Vec<KeyId>> {
    let rows = in_use(store).await?;
    let unused: Vec<KeyId> = forbidden
        .into_iter()
        .filter(|key| !rows.contains_key(key.as_str()))
        .collect();
    if !unused.is_empty() {
        file.remove(&unused)?;
    }
    Ok(unused)
}
