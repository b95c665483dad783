//! `mcp install`: the configuration of a client that starts `maillatch mcp`. It never
//! contains a key: the process reads the key from its environment or from `dev.env`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::config_file::ConfigFile;
use crate::remote::Remote;

/// Prints or writes the configuration of a client.
#[derive(Debug, Args)]
pub(super) struct Install {
    /// The client.
    #[arg(long, value_enum)]
    client: Kind,
    /// Write it into the client's file instead of printing it.
    #[arg(long)]
    write: bool,
}

/// A client, named by its command or its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Claude Code: `.mcp.json` of this folder.
    Claude,
    /// Cursor: `.cursor/mcp.json` of this folder.
    Cursor,
    /// Visual Studio Code: `.vscode/mcp.json` of this folder.
    Vscode,
    /// Codex: `.codex/config.toml` of your home.
    Codex,
}

impl Install {
    pub(super) fn run(&self, remote: &Remote) -> Result<ExitCode> {
        let command = Start::new(remote)?;
        let path = self.client.file()?;
        if self.write {
            let file = ConfigFile::open(&path)?;
            let after = self.client.with_entry(file.text(), &command);
            let after = after.with_context(|| {
                format!("{} is left as it is: it cannot be changed", path.display())
            })?;
            file.replace(&after)?;
            eprintln!("maillatch: wrote {}", path.display());
        } else {
            let entry = self.client.with_entry("", &command)?;
            let mut out = std::io::stdout().lock();
            // The reader may have closed the pipe. That is no failure.
            let _ = out.write_all(entry.as_bytes()).and_then(|()| out.flush());
            eprintln!("maillatch: this belongs into {}", path.display());
        }
        if !command.has_key {
            eprintln!(
                "maillatch: set MAILLATCH_URL and MAILLATCH_KEY in the environment of the client"
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Kind {
    fn file(self) -> Result<PathBuf> {
        let file = match self {
            Self::Claude => ".mcp.json",
            Self::Cursor => ".cursor/mcp.json",
            Self::Vscode => ".vscode/mcp.json",
            Self::Codex => {
                let home = std::env::home_dir().context("there is no home directory")?;
                return Ok(home.join(".codex/config.toml"));
            }
        };
        Ok(PathBuf::from(file))
    }

    /// The text of its file with our entry, and everything else that it has.
    fn with_entry(self, before: &str, start: &Start) -> Result<String> {
        match self {
            Self::Codex => in_toml(before, start),
            Self::Claude | Self::Cursor => in_json(before, "mcpServers", start),
            Self::Vscode => in_json(before, "servers", start),
        }
    }
}

/// How the client starts the process.
struct Start {
    program: String,
    args: Vec<String>,
    has_key: bool,
}

impl Start {
    /// This program, with the data directory of a local server if there is one.
    fn new(remote: &Remote) -> Result<Self> {
        let program = std::env::current_exe().context("failed to find this program")?;
        let mut args = vec!["mcp".to_owned()];
        let directory = remote.local_data_dir();
        if let Some(directory) = &directory {
            args.extend(["--data-dir".to_owned(), directory.display().to_string()]);
        }
        Ok(Self {
            program: program.display().to_string(),
            args,
            has_key: directory.is_some(),
        })
    }
}

/// The file with our entry, and everything else that it has.
fn in_json(before: &str, list: &str, start: &Start) -> Result<String> {
    let mut whole: Value = match before.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).context("it is not plain JSON")?,
    };
    let Value::Object(fields) = &mut whole else {
        bail!("it is not a JSON object");
    };
    let servers = fields.entry(list).or_insert_with(|| json!({}));
    let Value::Object(servers) = servers else {
        bail!("`{list}` is not a JSON object");
    };
    let entry = json!({ "type": "stdio", "command": start.program, "args": start.args });
    servers.insert("maillatch".to_owned(), entry);
    Ok(format!("{whole:#}\n"))
}

/// The same in TOML. The text is kept as it is, because it may have comments.
fn in_toml(before: &str, start: &Start) -> Result<String> {
    let table: toml::Table = before.parse().context("it is not valid TOML")?;
    let ours = table
        .get("mcp_servers")
        .and_then(|list| list.get("maillatch"));
    if ours.is_some() {
        bail!("it has a section mcp_servers.maillatch already");
    }
    let (program, args) = (toml::Value::from(start.program.as_str()), &start.args);
    let args = toml::Value::from(args.clone());
    let gap = if before.is_empty() { "" } else { "\n" };
    Ok(format!(
        "{before}{gap}[mcp_servers.maillatch]\ncommand = {program}\nargs = {args}\n"
    ))
}
