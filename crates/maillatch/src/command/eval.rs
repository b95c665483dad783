//! `eval`: the extractor's score on labelled cases.

mod case;
mod report;
mod score;
mod tally;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

pub(in crate::command) use case::Case;
use score::Score;

/// Scores the extractor on labelled messages and URLs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch eval cases.jsonl urls.jsonl
  maillatch eval --show wrong mine.jsonl

A line is a message: id, lang, origin, then raw, raw_base64 or eml_path, or subject and text or html, and
expected_otp (null: none), accept, expected_links, forbidden_links, allowlist.
Or a URL: url, must_reject or expected_host, allowlist, unwrapped. A line with
`disputed` is skipped. Codes are compared without case and punctuation.")]
pub(crate) struct Eval {
    /// Files of cases, one JSON object a line.
    #[arg(required = true, value_name = "CASES.jsonl")]
    files: Vec<PathBuf>,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    /// List the cases with this result.
    #[arg(long, value_enum)]
    show: Option<Show>,
}

/// Which cases to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// A wrong code or link, or a URL that must be rejected and was accepted.
    Wrong,
    /// Nothing where something was expected.
    Missed,
    /// Something where nothing was expected.
    False,
}

/// Exit codes: 0 scored, 1 a file cannot be read.
pub(crate) fn run(args: &Eval) -> Result<ExitCode> {
    let mut score = Score::default();
    for file in &args.files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("failed to read {}", file.display()))?;
        let folder = file.parent().unwrap_or(file).to_path_buf();
        let total = text.lines().count();
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            progress(file, number, total);
            let case = Case::parse(line)
                .with_context(|| format!("line {} of {}", number + 1, file.display()))?;
            score
                .add(&case, &folder)
                .with_context(|| format!("line {} of {}", number + 1, file.display()))?;
        }
        progress(file, total, total);
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", report::as_json(&score, args.show))?;
    } else {
        report::print(&mut out, &score, args.show)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A progress bar on a terminal.
fn progress(file: &std::path::Path, done: usize, total: usize) {
    let mut err = std::io::stderr().lock();
    if !err.is_terminal() || !(done.is_multiple_of(25) || done == total) {
        return;
    }
    let filled = (done * 30).checked_div(total).unwrap_or(30);
    let bar = format!("{}{}", "#".repeat(filled), ".".repeat(30 - filled.min(30)));
    let end = if done == total { "\n" } else { "" };
    let _ = write!(err, "\r[{bar}] {done}/{total} {}{end}", file.display());
}
