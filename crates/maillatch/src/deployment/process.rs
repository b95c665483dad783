//! One server process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use url::Url;

const START: Duration = Duration::from_secs(30);
const STOP: Duration = Duration::from_secs(30);

/// A process that has reported ready. Once it is stopped it has no URL.
pub struct Process {
    child: Child,
    url: Option<Url>,
    ops_url: Url,
}

impl Process {
    /// Starts `binary command --config config` on a free port and waits for its ready
    /// line. It logs to a file in the directory `logs`.
    pub(super) async fn start(
        binary: &Path,
        command: &str,
        config: &Path,
        logs: &Path,
    ) -> Result<Self> {
        let log = logs.join(format!("{command}-{}.log", uuid::Uuid::now_v7().simple()));
        let log_file = std::fs::File::create(&log).context("failed to create a log file")?;
        let mut child = Command::new(binary)
            .args([command, "--json", "--listen", "127.0.0.1:0", "--config"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", binary.display()))?;
        let stdout = child
            .stdout
            .take()
            .context("the process has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let Ok(Ok(Some(line))) = timeout(START, lines.next_line()).await else {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            bail!("`maillatch {command}` did not become ready: {}", log.trim());
        };
        Ok(Self {
            child,
            url: Some(url_in(&line, "url")?),
            ops_url: url_in(&line, "ops_url")?,
        })
    }

    /// Its URL, while it runs.
    pub fn url(&self) -> Option<&Url> {
        self.url.as_ref()
    }

    /// The URL of its operators' listener, while it runs.
    pub fn ops_url(&self) -> Option<&Url> {
        self.url.as_ref().map(|_| &self.ops_url)
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.url.as_ref().and_then(|_| self.child.id())
    }

    /// Kills it with SIGKILL.
    pub async fn kill(&mut self) -> Result<()> {
        self.url = None;
        self.child.kill().await.context("failed to kill a process")
    }

    /// Asks it to stop with SIGTERM and waits until it exits with 0.
    pub async fn stop(&mut self) -> Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        self.url = None;
        let asked = Command::new("kill")
            .arg("-TERM")
            .arg(pid.to_string())
            .status()
            .await;
        asked.context("failed to run kill")?;
        let status = timeout(STOP, self.child.wait())
            .await
            .context("the process did not stop")??;
        if !status.success() {
            bail!("the process ended with {status}");
        }
        Ok(())
    }
}

fn url_in(ready: &str, field: &str) -> Result<Url> {
    let line: serde_json::Value =
        serde_json::from_str(ready).context("the ready line is not JSON")?;
    let url = line.get(field).and_then(|url| url.as_str());
    let url = url.context("the ready line has no url")?;
    Url::parse(url).context("the ready line's url is not a URL")
}

/// Runs a command to its end.
pub(super) async fn run_to_end(binary: &Path, args: &[&str], config: &Path) -> Result<()> {
    let output = Command::new(binary).args(args).arg(config).output().await?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`maillatch {}` failed: {}", args.join(" "), said.trim());
    }
    Ok(())
}
