//! Log lines on standard error; standard output is for data.

use std::io::{IsTerminal, stderr};

use anyhow::{Context, Result};
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;
use crate::log_limit::LogLimit;

/// Libraries whose own lines are not wanted: the queue reports the failures of lapin.
const LIBRARIES: &str = "sqlx=warn,lapin=off,actix_server=warn";

/// Whether a line is wanted: any client can make `actix_http` log an error by a
/// malformed request. Its other lines are written when the operator asks for them. The
/// lines of `rmcp` contain whole answers, and so codes: no filter brings them back.
fn is_wanted(line: &Metadata<'_>) -> bool {
    let target = line.target();
    let is_http = target.starts_with("actix_http");
    !target.starts_with("rmcp") && (*line.level() > Level::WARN || !is_http)
}

/// Starts logging for a serving process.
///
/// Drivers log at warning level at most: their debug lines may contain the data they
/// were given, and nothing of a mail may reach a log.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<()> {
    let filter = EnvFilter::try_new(format!("{filter},{LIBRARIES}"))
        .context("log.filter is not valid; write error, warn, info, debug, or info,worker=debug")?;
    let filter = filter.and(filter_fn(is_wanted)).and(LogLimit::default());
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr);
    let registry = tracing_subscriber::registry();
    let as_text = match format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => stderr().is_terminal(),
    };
    let started = if as_text {
        let ansi = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let layer = lines.with_ansi(ansi).with_filter(filter);
        registry.with(layer).try_init()
    } else {
        let layer = lines.json().flatten_event(true).with_filter(filter);
        registry.with(layer).try_init()
    };
    started
        .map_err(|error| anyhow::anyhow!(error))
        .context("failed to start logging")
}
