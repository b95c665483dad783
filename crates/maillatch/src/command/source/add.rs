//! `source add`: what to write into the configuration, and what to click.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use pipeline::SourceName;
use providers::{Contract, Coverage, contracts};
use url::Url;

/// Providers for which the operator chooses the secret; the others show theirs.
const SECRET_IS_OURS: [&str; 4] = ["cloudflare", "github-style", "relay", "standard-webhooks"];

/// Providers that sign with a key pair of their own.
const PUBLIC_KEY: [&str; 2] = ["postal", "sendgrid"];

/// Prints the settings of a new source on standard output, and its URL and the
/// steps at the provider on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch source add mailgun --name mailgun-mime --url https://mail.example.com >> maillatch.toml")]
pub(crate) struct Add {
    /// The provider, such as `postmark`; an unknown one lists all.
    provider: String,
    /// The source's name; by default the provider's.
    #[arg(long)]
    name: Option<SourceName>,
    /// Where this server is reached from outside.
    #[arg(long, value_name = "URL", default_value = "https://YOUR-HOST.example")]
    url: Url,
}

pub(super) fn run(args: &Add) -> Result<ExitCode> {
    let contract = contracts()
        .find(|contract| contract.name == args.provider)
        .with_context(|| format!("no such provider; known are {}", known()))?;
    let name = match &args.name {
        Some(name) => name.to_string(),
        None => contract.name.to_owned(),
    };
    let settings = Settings::new(contract);
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n[source.{name}]\nprovider = \"{}\"", contract.name)?;
    for (key, value) in &settings.lines {
        writeln!(out, "{key} = {value}")?;
    }
    eprintln!("Webhook: {}", settings.webhook(&args.url, &name)?);
    for (number, step) in contract.setup.iter().enumerate() {
        eprintln!("{}. {step}", number + 1);
    }
    eprintln!("Then restart the server, and try it: maillatch source test {name}");
    Ok(ExitCode::SUCCESS)
}

fn known() -> String {
    let names: Vec<&str> = contracts().map(|contract| contract.name).collect();
    names.join(", ")
}

/// The lines of the new source, and the password that goes into its URL.
struct Settings {
    lines: Vec<(&'static str, String)>,
    password: Option<String>,
}

impl Settings {
    fn new(contract: &Contract) -> Self {
        let mut lines = Vec::new();
        match contract.name {
            "mailhook" => lines.push(("recipient", "\"PASTE THE ADDRESS\"".to_owned())),
            "ses-sns" => lines.push(("topics", "[\"PASTE THE TOPIC'S ARN\"]".to_owned())),
            _ => {}
        }
        if contract.coverage != Coverage::Password && contract.name != "ses-sns" {
            lines.push(if PUBLIC_KEY.contains(&contract.name) {
                ("public_key", "\"PASTE THE PROVIDER'S KEY\"".to_owned())
            } else if SECRET_IS_OURS.contains(&contract.name) {
                let secret = STANDARD.encode(rand::random::<[u8; 32]>());
                ("secrets", format!("[\"whsec_{secret}\"]"))
            } else {
                ("secrets", "[\"PASTE THE PROVIDER'S SECRET\"]".to_owned())
            });
        }
        // A signature that leaves out the body needs a second proof.
        let password = (contract.coverage != Coverage::Body).then(feed::Keys::mint);
        if let Some(password) = &password {
            lines.push(("username", "\"maillatch\"".to_owned()));
            lines.push(("password", format!("\"{password}\"")));
        }
        Self { lines, password }
    }

    fn webhook(&self, base: &Url, name: &str) -> Result<Url> {
        let mut url = base
            .join(&format!("hooks/{name}"))
            .context("--url cannot be used")?;
        if let Some(password) = &self.password {
            let set = url
                .set_username("maillatch")
                .and_then(|()| url.set_password(Some(password)));
            set.ok().context("--url cannot hold a password")?;
        }
        Ok(url)
    }
}
