//! `healthcheck`: asks the server of this machine whether it is ready, for images
//! without a shell.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::config::ConfigArgs;

/// Asks a running server whether it is ready.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  HEALTHCHECK CMD [\"/maillatch\", \"healthcheck\"]

Exit codes: 0 ready, 1 not ready, 8 unreachable.")]
pub(crate) struct Healthcheck {
    #[command(flatten)]
    config_args: ConfigArgs,
    /// The server's URL; by default the address that the configuration listens on.
    #[arg(long, env = "MAILLATCH_URL", value_name = "URL")]
    url: Option<String>,
}

pub(crate) async fn run(args: Healthcheck) -> Result<ExitCode> {
    let url = match args.url {
        Some(url) => url,
        None => format!("http://{}", args.config_args.load(None)?.server.listen),
    };
    // A proxy of the environment might answer in place of the server, so none is used.
    let mut client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(5));
    // Without TLS no certificates are needed, and an image may have none.
    if url.starts_with("http:") {
        client = client.tls_certs_only([]);
    }
    let client = client.build().context("failed to build the client")?;
    match client.get(ready_url(&url)).send().await {
        Ok(answer) if answer.status().is_success() => Ok(ExitCode::SUCCESS),
        Ok(answer) => {
            eprintln!("not ready: {}", answer.text().await.unwrap_or_default());
            Ok(ExitCode::FAILURE)
        }
        Err(error) => {
            eprintln!("unreachable: {error}");
            Ok(ExitCode::from(8))
        }
    }
}

/// Where a server says whether it is ready. A slash at the end of its URL means nothing.
fn ready_url(server: &str) -> String {
    format!("{}/readyz", server.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slash_at_the_end_of_the_url_is_not_repeated() {
        let wanted = "http://127.0.0.1:8080/readyz";
        for given in [
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/",
            "http://127.0.0.1:8080//",
        ] {
            assert_eq!(ready_url(given), wanted, "{given}");
        }
        assert_eq!(ready_url("http://host/mail/"), "http://host/mail/readyz");
    }
}
