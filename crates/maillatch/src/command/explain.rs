//! `explain`: what the extractor finds in a mail, and why.

mod as_json;
mod save_case;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use extract::{Allowlist, Extracted, Extraction, Policy};
use pipeline::CodeForm;
use serde_json::json;

use as_json::as_json;
use save_case::Expected;

/// Shows what the extractor finds in a mail, and the evidence for it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch explain mail.eml
  maillatch explain --json --allow example.com - < mail.eml
  maillatch explain missed.eml --expect digits:6
  maillatch explain missed.eml --save-case cases.jsonl --code 493817
  maillatch explain wrong.eml --save-case cases.jsonl
  maillatch eval cases.jsonl

The report names rules, positions and points. It contains the code and the link
only with --values.

--save-case appends the mail and what it should have given to a file that `eval`
scores. Without --code and --link it says that the mail has neither.")]
pub(crate) struct Explain {
    /// The mail, or `-` for standard input.
    #[arg(value_name = "FILE.eml|-")]
    file: PathBuf,
    /// Allow links to this domain and its subdomains; may be repeated.
    #[arg(long, value_name = "DOMAIN")]
    allow: Vec<String>,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Show the code and the link, too.
    #[arg(long)]
    values: bool,
    /// Withhold what has less confidence than this, in percent, as `extract.threshold` does.
    #[arg(long, value_name = "PERCENT", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=99))]
    threshold: u8,
    /// The form of the code, if it is known: digits:6, letters:8 or characters:10.
    #[arg(long, value_name = "FORM")]
    expect: Option<CodeForm>,
    /// Append the mail to this file, as a case for `maillatch eval`.
    #[arg(long, value_name = "FILE.jsonl")]
    save_case: Option<PathBuf>,
    /// The code that the mail should have given.
    #[arg(long, value_name = "CODE", requires = "save_case")]
    code: Option<String>,
    /// The link that the mail should have given.
    #[arg(long, value_name = "URL", requires = "save_case")]
    link: Option<String>,
}

/// Exit codes: 0 explained, 1 refused or unreadable.
pub(crate) fn run(args: &Explain) -> Result<ExitCode> {
    let raw = read(&args.file)?;
    if let Some(file) = &args.save_case {
        let expected = Expected {
            code: args.code.as_deref(),
            link: args.link.as_deref(),
        };
        save_case::save(file, &raw, &expected)?;
    }
    let policy = Policy {
        links: allowlist(&args.allow)?,
        threshold: args.threshold,
        expected: args.expect.map(worker::expected_code),
    };
    let mut out = std::io::stdout().lock();
    match extract::extract(&raw, &policy) {
        Err(refusal) if args.json => {
            writeln!(out, "{}", json!({ "refused": refusal.reason() }))?;
            Ok(ExitCode::FAILURE)
        }
        Err(refusal) => {
            writeln!(out, "refused    {} ({refusal})", refusal.reason())?;
            Ok(ExitCode::FAILURE)
        }
        Ok(mail) if args.json => {
            writeln!(out, "{}", as_json(&mail, args.values))?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(mail) => {
            report(&mut out, &mail, args.values)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn read(file: &PathBuf) -> Result<Vec<u8>> {
    let mut raw = Vec::new();
    if file.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .read_to_end(&mut raw)
            .context("failed to read standard input")?;
    } else {
        raw = std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    }
    Ok(raw)
}

/// Without domains everything is allowed; a domain allows itself and its subdomains.
pub(super) fn allowlist(domains: &[String]) -> Result<Allowlist> {
    if domains.is_empty() {
        return Ok(Allowlist::any());
    }
    let entries = domains
        .iter()
        .flat_map(|domain| match domain.strip_prefix("*.") {
            Some(_) => vec![domain.clone()],
            None => vec![domain.clone(), format!("*.{domain}")],
        });
    Allowlist::parse(entries).context("failed to read the allowlist")
}

fn report(out: &mut impl Write, mail: &Extracted, values: bool) -> Result<()> {
    let flags: Vec<_> = mail.flags.iter().map(|flag| flag.as_str()).collect();
    writeln!(
        out,
        "sender     {}",
        mail.sender
            .address
            .as_deref()
            .unwrap_or("(none, or ambiguous)")
    )?;
    writeln!(
        out,
        "flags      {}",
        if flags.is_empty() {
            "none".to_owned()
        } else {
            flags.join(", ")
        }
    )?;
    answered(out, mail)?;
    match &mail.code {
        Extraction::Found(code) => {
            let value = if values { code.value.as_str() } else { "***" };
            writeln!(
                out,
                "code       {value}  confidence {}  by {}",
                code.confidence, code.rule
            )?;
        }
        other => writeln!(
            out,
            "code       none: {}",
            other.reason().map_or("", extract::AbstainReason::as_str)
        )?,
    }
    match &mail.link {
        Extraction::Found(link) => {
            let value = if values {
                link.url.as_str()
            } else {
                link.host.as_str()
            };
            writeln!(
                out,
                "link       {value}  {}  confidence {}  allowed by {}",
                link.kind.as_str(),
                link.confidence,
                link.rule
            )?;
        }
        other => writeln!(
            out,
            "link       none: {}",
            other.reason().map_or("", extract::AbstainReason::as_str)
        )?,
    }
    evidence(out, mail)
}

/// Whether the built-in rules let the mail be answered.
fn answered(out: &mut impl Write, mail: &Extracted) -> Result<()> {
    let why = match (mail.reply.automated, mail.reply.list) {
        (Some(field), _) => format!("no: automated ({field})"),
        (None, Some(field)) => format!("no: list ({field})"),
        (None, None) => "may be answered, if its sender is proven or listed".to_owned(),
    };
    writeln!(out, "reply      {why}")?;
    Ok(())
}

fn evidence(out: &mut impl Write, mail: &Extracted) -> Result<()> {
    let explanation = &mail.explanation;
    writeln!(
        out,
        "\nrules {}  words of {}",
        explanation.ruleset,
        explanation.languages.join(", ")
    )?;
    for source in &explanation.sources {
        let cut = if source.truncated { ", truncated" } else { "" };
        writeln!(
            out,
            "  {:<8} {} bytes visible, {} hidden{cut}",
            name(&source.source),
            source.visible,
            source.hidden
        )?;
    }
    writeln!(
        out,
        "\ncandidates for the code, best first; equal numbers are equal values"
    )?;
    for one in &explanation.code {
        let rules: Vec<_> = one
            .rules
            .iter()
            .map(|(rule, points)| format!("{} {points:+}", name(rule)))
            .collect();
        writeln!(
            out,
            "  {:>4}  #{} {} at {}+{}  {}",
            one.score,
            one.value,
            name(&one.source),
            one.at,
            one.length,
            rules.join("  ")
        )?;
    }
    writeln!(out, "\nlinks, best first")?;
    for one in &explanation.links {
        let rules: Vec<_> = one
            .rules
            .iter()
            .map(|(rule, points)| format!("{} {points:+}", name(rule)))
            .collect();
        let place = one.rejected.map_or_else(
            || one.host.clone().unwrap_or_default(),
            |rejection| format!("refused: {rejection}"),
        );
        writeln!(
            out,
            "  {:>4}  {} {} at {}  {place}  {}",
            one.score,
            one.kind.as_str(),
            name(&one.source),
            one.at,
            rules.join("  ")
        )?;
    }
    Ok(())
}

/// The name that an enum is serialised as.
fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
