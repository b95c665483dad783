//! Log lines on standard error; standard output is for data.

use std::io::{IsTerminal, stderr};

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Starts logging for a serving process.
///
/// Drivers log at warning level at most: their debug lines may contain the data they
/// were given, and nothing of a mail may reach a log.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<()> {
    let filter = EnvFilter::try_new(format!("{filter},sqlx=warn,lapin=warn,actix_server=warn"))
        .context("log.filter is not valid; write error, warn, info, debug, or info,worker=debug")?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    let as_text = match format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => stderr().is_terminal(),
    };
    let started = if as_text {
        let ansi = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        builder.with_ansi(ansi).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
    started
        .map_err(|error| anyhow::anyhow!(error))
        .context("failed to start logging")
}
