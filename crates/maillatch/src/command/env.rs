//! `env`: the variables that name a server, for a shell.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use secrecy::ExposeSecret;

use crate::dev;
use crate::remote::Remote;

/// Prints `MAILLATCH_URL` and `MAILLATCH_KEY` for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  eval \"$(maillatch env)\"

The output contains the key. The packages for Python and TypeScript, and `maillatch mcp`,
read both variables.")]
pub(crate) struct Env {
    #[command(flatten)]
    remote: Remote,
}

pub(crate) fn run(args: &Env) -> Result<ExitCode> {
    let connection = args.remote.connection()?;
    let url = connection.url.as_str().trim_end_matches('/');
    let mut out = std::io::stdout().lock();
    for (name, value) in [(dev::URL, url), (dev::KEY, connection.key.expose_secret())] {
        writeln!(out, "export {name}={}", quoted(value))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_quote_in_a_value_is_escaped_for_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
    }
}
