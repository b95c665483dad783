//! The figures of a run.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::drive::Driven;
use super::watch::Seen;

/// What was measured.
pub(super) struct Figures {
    mails: usize,
    posts: usize,
    refused: Vec<(u16, usize)>,
    seconds: f64,
    ack: Spread,
    consumable: Option<Consumable>,
}

struct Consumable {
    count: usize,
    seconds: f64,
    spread: Spread,
    error: Option<String>,
}

/// Percentiles, in milliseconds.
#[derive(Default)]
struct Spread {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

impl Figures {
    pub(super) fn of(driven: &Driven, seen: Option<&Seen>) -> Self {
        let consumable = seen.map(|seen| Consumable {
            count: seen.took.len(),
            seconds: seen.until_last.as_secs_f64(),
            spread: Spread::of(seen.took.clone()),
            error: seen.error.as_ref().map(ToString::to_string),
        });
        Self {
            mails: driven.mails,
            posts: driven.acks.len(),
            refused: driven.refused.clone().into_iter().collect(),
            seconds: driven.took.as_secs_f64(),
            ack: Spread::of(driven.acks.iter().map(|ack| ack.took).collect()),
            consumable,
        }
    }

    /// Whether every post was accepted and every code arrived.
    pub(super) fn is_complete(&self) -> bool {
        let all_arrived = |seen: &Consumable| seen.count == self.mails;
        self.refused.is_empty() && self.consumable.as_ref().is_none_or(all_arrived)
    }

    pub(super) fn json(&self) -> Value {
        let refused: serde_json::Map<String, Value> = self
            .refused
            .iter()
            .map(|(status, count)| (status.to_string(), json!(count)))
            .collect();
        json!({
            "mails": self.mails,
            "acks": self.posts,
            "refused": refused,
            "seconds": self.seconds,
            "acks_per_second": rate(self.posts, self.seconds),
            "ack_ms": self.ack.json(),
            "consumable": self.consumable.as_ref().map(|seen| json!({
                "codes": seen.count,
                "seconds": seen.seconds,
                "per_second": rate(seen.count, seen.seconds),
                "after_ack_ms": seen.spread.json(),
                "error": seen.error,
            })),
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { p50, p90, p99, max } = self.ack;
        let per_second = rate(self.posts, self.seconds);
        writeln!(
            f,
            "acknowledged  {} posts, {per_second:.0} a second",
            self.posts
        )?;
        write!(
            f,
            "  time to answer      p50 {p50:.2} ms, p90 {p90:.2}, p99 {p99:.2}, longest {max:.2}"
        )?;
        for (status, count) in &self.refused {
            match status {
                0 => write!(f, "\n  {count} posts got no answer")?,
                status => write!(f, "\n  {count} posts were answered {status}")?,
            }
        }
        let Some(seen) = &self.consumable else {
            return Ok(());
        };
        let Spread { p50, p90, p99, max } = seen.spread;
        let per_second = rate(seen.count, seen.seconds);
        writeln!(
            f,
            "\nconsumable    {} of {} codes, {per_second:.0} a second",
            seen.count, self.mails
        )?;
        write!(
            f,
            "  time after answer   p50 {p50:.2} ms, p90 {p90:.2}, p99 {p99:.2}, longest {max:.2}"
        )?;
        match &seen.error {
            Some(error) => write!(f, "\n  an agent stopped waiting: {error}"),
            None => Ok(()),
        }
    }
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        let at = |percent: usize| {
            let time = times.get((times.len() * percent / 100).min(last));
            time.copied().unwrap_or_default().as_secs_f64() * 1000.0
        };
        Self {
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max: at(100),
        }
    }

    fn json(&self) -> Value {
        json!({ "p50": self.p50, "p90": self.p90, "p99": self.p99, "max": self.max })
    }
}

fn rate(count: usize, seconds: f64) -> f64 {
    let count = u32::try_from(count).map_or(f64::INFINITY, f64::from);
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_one_to_hundred_are_their_own_numbers() {
        let spread = Spread::of((1..=100).rev().map(Duration::from_millis).collect());
        assert!((spread.p50 - 51.0).abs() < 0.01, "{}", spread.p50);
        assert!((spread.p99 - 100.0).abs() < 0.01, "{}", spread.p99);
        assert!((spread.max - 100.0).abs() < 0.01, "{}", spread.max);
    }

    #[test]
    fn percentiles_of_nothing_are_zero() {
        assert!(Spread::of(Vec::new()).max.abs() < f64::EPSILON);
    }
}
