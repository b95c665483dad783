//! The demo's output: one line for each step, and whether its check passed.

use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};

/// One checked step.
struct Step {
    name: &'static str,
    line: String,
    passed: bool,
}

/// The demo's lines.
pub(super) struct Transcript {
    as_json: bool,
    began: Instant,
    steps: Vec<Step>,
}

impl Transcript {
    pub(super) fn new(as_json: bool) -> Self {
        Self {
            as_json,
            began: Instant::now(),
            steps: Vec::new(),
        }
    }

    /// Records a step and prints it at once.
    pub(super) fn step(&mut self, name: &'static str, line: String, passed: bool) -> Result<()> {
        if !self.as_json {
            let number = self.steps.len() + 1;
            let mark = if passed { "ok  " } else { "FAIL" };
            writeln!(
                std::io::stdout().lock(),
                "{number:>2}  {mark}  {name:<10} {line}"
            )?;
        }
        self.steps.push(Step { name, line, passed });
        Ok(())
    }

    /// Whether there were checks and all of them passed.
    pub(super) fn passed(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.passed)
    }

    /// Prints the summary.
    pub(super) fn finish(&self, error: Option<&anyhow::Error>) -> Result<()> {
        let passed = self.steps.iter().filter(|step| step.passed).count();
        let (count, ms) = (self.steps.len(), self.began.elapsed().as_millis());
        let mut out = std::io::stdout().lock();
        if self.as_json {
            let steps: Vec<Value> = self
                .steps
                .iter()
                .map(|Step { name, line, passed }| json!({ "step": name, "line": line, "ok": passed }))
                .collect();
            let ok = self.passed() && error.is_none();
            let error = error.map(|error| format!("{error:#}"));
            let ms = u64::try_from(ms).unwrap_or(u64::MAX);
            writeln!(
                out,
                "{}",
                json!({ "ok": ok, "steps": steps, "ms": ms, "error": error })
            )?;
        } else {
            writeln!(out, "\n{passed} of {count} checks passed in {ms} ms")?;
        }
        Ok(())
    }
}
