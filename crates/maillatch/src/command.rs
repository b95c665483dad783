//! One file for each command; this one dispatches.

pub(crate) mod api_key;
pub(crate) mod attempt;
pub(crate) mod audit;
pub(crate) mod bench;
mod cli;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod failures;
pub(crate) mod guard;
pub(crate) mod healthcheck;
pub(crate) mod import;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod progress;
pub(crate) mod relay;
pub(crate) mod roles;
pub(crate) mod seal_key;
pub(crate) mod sends;
pub(crate) mod source;
pub(crate) mod threads;
pub(crate) mod trigger;
pub(crate) mod wait;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};

use crate::serve::Roles;

use cli::{Cli, Command};
use roles::ServeArgs;

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    crate::panic_hook::install();
    let cli = Cli::parse();
    // One TLS provider for every client in the process. This fails only when
    // one is installed already, and then it is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    run(cli).unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            return ExitCode::from(crate::panic_hook::CLOSED_PIPE);
        }
        eprintln!("maillatch: {error:#}");
        ExitCode::FAILURE
    })
}

/// Whether the reader of our output is gone, such as `head` after its lines.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let cause = cause.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

fn run(cli: Cli) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let code = runtime.block_on(dispatch(cli.command));
    // The store has already waited for database work that outlived its caller.
    runtime.shutdown_background();
    code
}

async fn dispatch(command: Option<Command>) -> Result<ExitCode> {
    match command.unwrap_or_else(|| Command::Up(ServeArgs::default())) {
        Command::Up(args) => roles::run(args, Roles::ALL).await,
        Command::Webhook(args) => roles::run(args, Roles::WEBHOOK).await,
        Command::Worker(args) => roles::run(args, Roles::WORKER).await,
        Command::Feed(args) => roles::run(args, Roles::FEED).await,
        Command::Poll(args) => roles::run(args, Roles::POLL).await,
        Command::Send(args) => roles::run(args, Roles::SEND).await,
        Command::Migrate(args) => migrate::run(args).await,
        Command::Trigger(args) => trigger::run(args).await,
        Command::Wait(args) => wait::run(args).await,
        Command::Attempt(args) => attempt::run(args).await,
        Command::Guard(args) => guard::run(args).await,
        Command::Mcp(args) => mcp::run(args).await,
        Command::Env(args) => env::run(&args),
        Command::Bench(args) => bench::run(args).await,
        Command::Demo(args) => demo::run(args).await,
        Command::Explain(args) => explain::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Source(args) => source::run(args).await,
        Command::Relay(args) => relay::run(args).await,
        Command::Import(args) => Box::pin(import::run(args)).await,
        Command::Failures(args) => failures::run(args).await,
        Command::Sends(args) => sends::run(args).await,
        Command::Threads(args) => threads::run(args).await,
        Command::Audit(args) => audit::run(args).await,
        Command::ApiKey(args) => api_key::run(args).await,
        Command::SealKey(args) => Box::pin(seal_key::run(args)).await,
        Command::Doctor(args) => Box::pin(doctor::run(args)).await,
        Command::Healthcheck(args) => healthcheck::run(args).await,
        Command::Completions(args) => completions::run(&args, Cli::command()),
    }
}
