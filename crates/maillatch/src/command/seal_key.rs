//! `seal-key`: the keys that rows are sealed with.

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
use crate::wire::store_settings;

/// Rows that one transaction seals anew; a body may have ten megabytes.
const BATCH: u32 = 16;
/// Longer than a process goes on sealing under the key it knew. What comes later
/// under an older key is refused by the database, so this saves those who seal from
/// doing it twice, and nothing hangs on it.
const SETTLED: Duration = Duration::from_secs(5);

/// Shows and rotates the keys that bodies and values are sealed with.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch seal-key list
  maillatch seal-key rotate
  maillatch seal-key rotate --retire --json
  maillatch seal-key retire

A rotation puts a new key in front of the key file and seals every row anew, also
while servers run on the database: they notice the new file. One that was cut off
is finished by the next. With --retire, keys that no row needs any more leave the
file, and what an old backup holds can then be read by nobody. From then on the
database takes no row under them, not even from a process that stood still
meanwhile. Rows that do not open, since they are damaged or their key is gone, are
left as they are and counted, and the command ends with 1. On several machines, append a new key to every copy of the file first, move it to the front
of each, and then run this once.")]
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
    /// List the keys and how many rows are sealed under each.
    #[command(after_help = "\
Example:
  maillatch seal-key list --json")]
    List,
    /// Seal everything anew under a new key.
    #[command(after_help = "\
Examples:
  maillatch seal-key rotate
  maillatch seal-key rotate --retire --config /etc/maillatch.toml")]
    Rotate {
        /// Remove keys that no row is sealed under any more.
        #[arg(long)]
        retire: bool,
    },
    /// Remove keys that no row is sealed under any more.
    #[command(after_help = "\
Example:
  maillatch seal-key retire --json")]
    Retire,
}

pub(crate) async fn run(args: SealKeyCommand) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let settings = store_settings(&config)?.as_guest();
    let file = key_file(&config).filter(|_| config.seal.keys.is_empty());
    let store = store::open(&settings)
        .await
        .context("failed to open the database")?;
    let outcome = act(&store, args.action, file, args.json).await;
    store.close().await;
    outcome
}

/// What came of sealing anew.
#[derive(Clone, Copy)]
struct Anew {
    /// Rows that are under the new key now.
    count: u64,
    /// Rows that do not open.
    stuck: u64,
}

async fn act(
    store: &Store,
    action: Action,
    file: Option<KeyFile>,
    as_json: bool,
) -> Result<ExitCode> {
    let clears = match action {
        Action::List => return list(store, as_json).await.map(|()| ExitCode::SUCCESS),
        Action::Rotate { retire } => retire,
        Action::Retire => true,
    };
    let Some(file) = file else {
        bail!("the keys are not in a file: set seal.file instead of seal.keys to change them");
    };
    let (key, count) = match action {
        Action::Retire => (first(&file)?, 0),
        Action::List | Action::Rotate { .. } => newest(store, &file).await?,
    };
    let mut anew = seal_anew(store, &key).await?;
    anew.count += count;
    let mut retired = Vec::new();
    if clears {
        settle(&file).await?;
        let older = older_keys(&file, &key)?;
        for older in &older {
            store.forbid(older).await?;
        }
        // What was sealed under the old keys until nothing could be any more.
        let late = seal_anew(store, &key).await?;
        anew = Anew {
            count: anew.count + late.count,
            ..late
        };
        retired = retire_unused(store, &file, older).await?;
    }
    report(&key, anew, &retired, as_json)?;
    Ok(if anew.stuck == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// How many rows are sealed under each key, of all columns.
async fn in_use(store: &Store) -> Result<BTreeMap<String, u64>> {
    let mut rows = BTreeMap::new();
    for column in [Sealing::Bodies, Sealing::Values] {
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
        eprintln!("{count} rows are sealed under {key}, which is not among the keys");
    }
    Ok(())
}

fn report(key: &KeyId, anew: Anew, retired: &[KeyId], as_json: bool) -> Result<()> {
    let Anew { count, stuck } = anew;
    eprintln!(
        "{count} rows sealed anew under {key}; {} keys retired",
        retired.len()
    );
    if stuck > 0 {
        eprintln!("{stuck} rows do not open, and stay under the keys they name");
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

/// The key to seal under: a new one, unless rows under older keys say that the
/// last rotation was cut off; and how many of them it has sealed to find out.
async fn newest(store: &Store, file: &KeyFile) -> Result<(KeyId, u64)> {
    let first = first(file)?;
    let is_unfinished = in_use(store).await?.keys().any(|key| key != first.as_str());
    // What cannot be opened is no reason to keep the others under this key for ever.
    if is_unfinished {
        let count = seal_anew(store, &first).await?.count;
        if count > 0 {
            eprintln!("an earlier rotation to {first} is finished first");
            return Ok((first, count));
        }
    }
    Ok((file.put_in_front()?, 0))
}

/// The keys of the file that do not seal.
fn older_keys(file: &KeyFile, sealing: &KeyId) -> Result<Vec<KeyId>> {
    let keys = file.read()?;
    let others = keys.iter().skip(1).map(|key| key.id().clone());
    Ok(others.filter(|key| key != sealing).collect())
}

fn first(file: &KeyFile) -> Result<KeyId> {
    let keys = file.read()?;
    let first = keys.first().context("there is no sealing key")?;
    Ok(first.id().clone())
}

async fn seal_anew(store: &Store, key: &KeyId) -> Result<Anew> {
    let older = |rows: &BTreeMap<String, u64>| -> u64 {
        let older = rows.iter().filter(|(name, _)| *name != key.as_str());
        older.map(|(_, count)| count).sum()
    };
    let total = older(&in_use(store).await?);
    let (mut done, mut stuck) = (0, 0);
    for column in [Sealing::Bodies, Sealing::Values] {
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
    Ok(Anew { count: done, stuck })
}

/// A bar for people; machines read the last line.
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
    // A terminal that has gone away is no reason to stop.
    let _ = write!(stderr, "\r[{bar}] {done} of {total}{end}");
}

/// Waits until every process that runs has noticed the key in front.
async fn settle(file: &KeyFile) -> Result<()> {
    let age = file.modified()?.elapsed().unwrap_or_default();
    let rest = SETTLED.saturating_sub(age);
    if !rest.is_zero() {
        eprintln!(
            "waiting {} s until every process uses the new key",
            rest.as_secs() + 1
        );
        tokio::time::sleep(rest).await;
    }
    Ok(())
}

/// Removes those of the forbidden keys that no row needs.
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
