//! The command line.

use clap::{Parser, Subcommand};

use super::roles::ServeArgs;
use super::{
    api_key, attempt, audit, bench, completions, demo, doctor, env, eval, explain, failures, guard,
    healthcheck, import, mcp, migrate, relay, seal_key, sends, source, threads, trigger, wait,
};

/// Receives verification mail by webhook and gives out its code or link at most once.
#[derive(Debug, Parser)]
#[command(name = "maillatch", version, about, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Three commands to get a code:
  maillatch                 start a server; SQLite in ./maillatch-data, nothing to install
  maillatch trigger otp     in another terminal: post a signed sample mail
  maillatch wait code       print the code, and nothing else, on standard output

Exit codes: 0 ok, 1 failure, 2 usage, 3 nothing arrived, 4 arrived without an
artifact, 5 withheld by policy, 6 already consumed, 7 not authorised, 8 server
unreachable or unhealthy, 9 expired, 130 interrupted, 143 terminated.";

/// What to do; without a command, `up`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve every role in one process (the default).
    Up(ServeArgs),
    /// Serve webhooks only: verify, record, notify the workers, answer.
    Webhook(ServeArgs),
    /// Process deliveries only: claim, parse, extract, complete.
    Worker(ServeArgs),
    /// Serve the agents' API only: list, wait, consume.
    Feed(ServeArgs),
    /// Poll sources for mail that their webhooks missed, and report silent sources.
    Poll(ServeArgs),
    /// Hand mail to providers only; workers do it too, unless `send.in_worker` is off.
    Send(ServeArgs),
    /// Create or update the database's tables.
    Migrate(migrate::Migrate),
    /// Post a correctly signed, realistic sample mail to a running server.
    Trigger(trigger::Trigger),
    /// Wait for a code or a link, consume it, and print it.
    Wait(wait::Wait),
    /// Open an attempt before the mail is requested; show it, consume it, finish it.
    Attempt(attempt::AttemptCommand),
    /// Claim an intent before an action, so that the action happens once.
    Guard(guard::GuardCommand),
    /// Serve a model's client on standard input and output (Model Context Protocol).
    Mcp(mcp::Mcp),
    /// Print the server's URL and key for `eval` in a shell.
    Env(env::Env),
    /// Run the whole pipeline against a temporary server and check each step.
    Demo(demo::Demo),
    /// Measure a running server: acknowledgements, and the time until codes arrive.
    Bench(bench::Bench),
    /// Show what the extractor finds in a mail, and the evidence for it.
    Explain(explain::Explain),
    /// Score the extractor on labelled messages and URLs.
    Eval(eval::Eval),
    /// List sources, connect a new one, test one.
    Source(source::SourceCommand),
    /// Post a message from standard input, as a mail server pipes it.
    Relay(relay::Relay),
    /// Import mail from files: a Maildir, or a folder of .eml files.
    Import(import::ImportCommand),
    /// List, show and requeue dead letters: deliveries and callbacks that failed for good.
    Failures(failures::Failures),
    /// List, show and settle sends, and guards of actions elsewhere.
    Sends(sends::Sends),
    /// List, show and release threads that were handed over to a person.
    Threads(threads::Threads),
    /// Show who consumed which artifact, and when.
    #[command(alias = "show")]
    Audit(audit::Audit),
    /// Create, list and revoke the API keys of agents.
    #[command(alias = "key")]
    ApiKey(api_key::ApiKeyCommand),
    /// List, rotate and retire the keys that encrypt stored bodies and values.
    #[command(alias = "keys")]
    SealKey(seal_key::SealKeyCommand),
    /// Check configuration, database, queue, sources and clock.
    Doctor(doctor::Doctor),
    /// Ask a running server whether it is ready (for container health checks).
    Healthcheck(healthcheck::Healthcheck),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
