//! `source add`: prints the settings of a new source, and the steps at the provider.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use pipeline::{InboxId, SourceName};
use providers::{Ask, Contract, Minted, USERNAME, contract, contracts};
use url::Url;

/// Prints the settings of a new source on standard output, and its URL and the
/// steps at the provider on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch source add mailgun --url https://mail.example.com --domain inbox.example.com \\
      >> maillatch.toml")]
pub(crate) struct Add {
    /// The provider, such as `postmark`; an unknown one lists all.
    provider: String,
    /// The source's name; by default the provider's.
    #[arg(long)]
    name: Option<SourceName>,
    /// The URL under which this server is reached from outside.
    #[arg(long, value_name = "URL", default_value = "https://YOUR-HOST.example")]
    url: Url,
    /// The domain whose mail the provider receives. Fresh addresses end in it, unless
    /// `inbox.mint_domain` names another one.
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    domain: Option<String>,
}

/// The domain, if it can be the domain of an address.
fn domain(text: &str) -> Result<String, &'static str> {
    let address: Result<InboxId, _> = format!("any@{text}").parse();
    let domain = address.ok().map(|address| address.domain().to_owned());
    domain
        .filter(|domain| domain.contains('.'))
        .ok_or("not a domain name")
}

/// What stands for a domain that was not named.
const NO_DOMAIN: &str = "PASTE THE DOMAIN WHOSE MAIL IT RECEIVES";

pub(super) fn run(args: &Add) -> Result<ExitCode> {
    let contract = contract(&args.provider)
        .with_context(|| format!("unknown provider; known are {}", known()))?;
    let name = match &args.name {
        Some(name) => name.to_string(),
        None => contract.source_name.to_owned(),
    };
    let password = feed::Keys::mint();
    let webhook = webhook(contract, &args.url, &name, &password)?;
    let minted = Minted {
        secret: format!("whsec_{}", STANDARD.encode(rand::random::<[u8; 32]>())),
        password,
        webhook: webhook.to_string(),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n[source.{name}]\nprovider = \"{}\"", contract.name)?;
    for (key, value) in contract.asks.iter().flat_map(|ask| ask.lines(&minted)) {
        writeln!(out, "{key} = {value}")?;
    }
    let domain = args.domain.as_deref().unwrap_or(NO_DOMAIN);
    writeln!(out, "domains = [\"{domain}\"]")?;
    if !contract.is_poll_only() {
        eprintln!("Webhook: {webhook}");
    }
    for (number, step) in contract.setup.iter().enumerate() {
        eprintln!("{}. {step}", number + 1);
    }
    if args.domain.is_none() {
        eprintln!(
            "Replace the placeholder of `domains` with the domain whose mail {} receives; \
             --domain writes it for you.",
            contract.name
        );
    }
    eprintln!(
        "With several sources, set inbox.mint_domain to the domain of fresh addresses. It must be \
         one of their `domains`."
    );
    eprintln!("Then restart the server, and try it: maillatch source test {name}");
    Ok(ExitCode::SUCCESS)
}

fn known() -> String {
    let names: Vec<&str> = contracts().map(|contract| contract.name).collect();
    names.join(", ")
}

/// The URL to enter at the provider, with the password or token that it needs.
fn webhook(contract: &Contract, base: &Url, name: &str, password: &str) -> Result<Url> {
    let mut url = base
        .join(&format!("hooks/{name}"))
        .context("--url cannot be used")?;
    if contract.asks.contains(&Ask::MintPassword) {
        let set = url
            .set_username(USERNAME)
            .and_then(|()| url.set_password(Some(password)));
        set.ok().context("--url cannot hold a password")?;
    }
    if contract.asks.contains(&Ask::MintToken) {
        url.query_pairs_mut().append_pair("token", password);
    }
    Ok(url)
}
