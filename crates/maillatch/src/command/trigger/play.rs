//! `trigger --as` and `trigger --scenario`: posts in a provider's form, and what can
//! happen to them on the way.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use providers::{Source, SourceSettings, Sources};
use serde_json::json;

use super::Trigger;
use super::scenario::{Script, Step};
use crate::command::wait::exit;
use crate::config::ConfigArgs;
use client::{PostError, Posted, SampleKind, send};

/// Plays the scenario `--count` times.
pub(super) async fn run(args: &Trigger) -> Result<ExitCode> {
    let sources = sources(args)?;
    let source = pick(args, &sources)?;
    let write = || write(args.kind);
    let script = Script {
        source,
        recipient: args.to.as_str(),
        write: &write,
    };
    let mut all_as_expected = true;
    for _ in 0..args.count {
        for step in script.steps(args.scenario)? {
            let base = args.remote.url()?;
            let posted = match send(&base, source.name().as_str(), step.post.clone()).await {
                Ok(posted) => posted,
                Err(PostError::Call(error)) => {
                    let advice = exit::advice(&error);
                    eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
                    return Ok(ExitCode::from(exit::UNREACHABLE));
                }
                Err(error) => return Err(error.into()),
            };
            all_as_expected &= report(args, source, &step, &posted)?;
        }
    }
    Ok(if all_as_expected {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The configured sources; without `--as`, one source with the given secret.
fn sources(args: &Trigger) -> Result<Sources> {
    let settings = match &args.provider {
        Some(_) => {
            ConfigArgs {
                config: args.config.clone(),
                ..ConfigArgs::default()
            }
            .load(None)?
            .source
        }
        None => BTreeMap::from([(
            args.source(),
            SourceSettings::standard_webhooks([args.remote.signing_secret()?]),
        )]),
    };
    Ok(Sources::build(settings)?)
}

/// The named source, or the first of the provider.
fn pick<'s>(args: &Trigger, sources: &'s Sources) -> Result<&'s Source> {
    let Some(provider) = &args.provider else {
        let only = sources.iter().next();
        return only.context("no source is configured");
    };
    if !providers::contracts().any(|contract| contract.name == provider) {
        bail!("unknown provider {provider}; `maillatch source add ?` lists all");
    }
    let mut fitting = sources.iter().filter(|source| {
        source.provider() == provider
            && args
                .source
                .as_ref()
                .is_none_or(|name| name == source.name())
    });
    fitting.next().with_context(|| {
        format!("no such source of {provider} is configured; `maillatch source add {provider}` prints its settings")
    })
}

/// A subject, a text, and the code or link in it.
fn write(kind: SampleKind) -> [String; 3] {
    match kind {
        SampleKind::Otp => {
            let code = rand::random_range(100_000..=999_999).to_string();
            let text = format!("Your verification code is {code}.\n");
            ["Your verification code".to_owned(), text, code]
        }
        SampleKind::MagicLink => {
            let token = uuid::Uuid::new_v4().simple();
            let link = format!("https://example.com/sign-in?token={token}");
            let text = format!("Use this link to sign in to your Example account:\n\n{link}\n");
            ["Sign in to Example".to_owned(), text, link]
        }
    }
}

/// Reports a step and its answer; returns whether the answer was the expected one.
fn report(args: &Trigger, source: &Source, step: &Step, posted: &Posted) -> Result<bool> {
    let status = posted.status.as_deref();
    let is_status = step.status.is_none_or(|expected| status == Some(expected));
    let is_as_expected = posted.http == step.expected && is_status;
    if args.json {
        let object = json!({
            "provider": source.provider(),
            "source": source.name().as_str(),
            "scenario": args.scenario.as_str(),
            "step": step.what,
            "kind": args.kind.as_str(),
            "to": args.to,
            "value": step.value,
            "http": posted.http,
            "status": posted.status,
            "delivery": posted.delivery,
            "problem": posted.problem,
            "expected": step.expected,
            "as_expected": is_as_expected,
        });
        writeln!(std::io::stdout().lock(), "{object}")?;
    }
    let word = status.or(posted.problem.as_deref()).unwrap_or("?");
    let verdict = if is_as_expected {
        String::new()
    } else {
        let status = step.status.unwrap_or_default();
        format!("  UNEXPECTED: should be {} {status}", step.expected)
    };
    eprintln!(
        "{} as {}, {}: {} {word}{verdict}",
        args.scenario.as_str(),
        source.provider(),
        step.what,
        posted.http
    );
    Ok(is_as_expected)
}
