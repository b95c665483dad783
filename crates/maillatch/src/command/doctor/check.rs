//! One line of the report, and the report as text or JSON.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Ok,
    Warning,
    Failed,
}

/// One line of the report.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) health: Health,
    pub(super) detail: String,
}

impl Check {
    pub(super) fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Ok, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    pub(super) fn warning(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Warning, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    pub(super) fn failed(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Failed, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    pub(super) fn of(name: &'static str, outcome: Result<String>) -> Self {
        match outcome {
            Ok(detail) => Self::ok(name, detail),
            Err(error) => Self::failed(name, format!("{error:#}")),
        }
    }
}

/// Prints one line for each check.
pub(super) fn print(checks: &[Check]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for Check {
        name,
        health,
        detail,
    } in checks
    {
        let mark = match health {
            Health::Ok => "ok  ",
            Health::Warning => "warn",
            Health::Failed => "FAIL",
        };
        writeln!(out, "{mark}  {name:<14} {detail}")?;
    }
    Ok(())
}

/// The report as one object.
pub(super) fn as_json(checks: &[Check]) -> Value {
    let items: Vec<Value> = checks
        .iter()
        .map(
            |Check {
                 name,
                 health,
                 detail,
             }| {
                let health = match health {
                    Health::Ok => "ok",
                    Health::Warning => "warn",
                    Health::Failed => "fail",
                };
                json!({ "check": name, "health": health, "detail": detail })
            },
        )
        .collect();
    json!({ "checks": items })
}
