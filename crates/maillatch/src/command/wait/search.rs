//! Waits for a value and consumes it: an attempt, and its consume. Which mail counts, what is
//! withheld and what is stale is what the server says.

use tokio::time::Instant;

use super::Search;
use super::handle::Handle;
use super::miss::Miss;
use super::pace::Pace;
use super::patience::Patience;
use crate::shutdown::{StopSignal, StopSignals};
use client::{Attempt, AttemptConsumption, AttemptValue, CallError};

/// How often a value that is replaced at the moment of its consume is asked for again.
const MAX_RETRIES: u32 = 10;

/// The outcome of a search.
pub(super) enum Found {
    /// A value that only this process has.
    Value(Box<Value>),
    /// No value, and why.
    None(Miss),
    /// The process was asked to stop.
    Stopped(StopSignal),
}

/// A value and when it arrived.
pub(super) struct Value {
    pub(super) disclosed: AttemptValue,
    /// When its mail was received, in RFC 3339, if the server has said so.
    pub(super) received_at: Option<String>,
    /// When the wait began, by the same clock.
    pub(super) opened_at: Option<String>,
}

/// How a wait ended.
enum Ended {
    Value(AttemptValue),
    Consumed { at: Option<String> },
    Without(Box<Attempt>),
}

/// Waits for a value and consumes it. The attempt ends with the search, whatever the
/// outcome: a forgotten attempt would receive the mail of the next search.
pub(super) async fn search(search: &Search<'_>) -> Result<Found, CallError> {
    let mut handle = Handle::default();
    let mut signals = StopSignals::listen();
    let ended = tokio::select! {
        ended = wait(search, &mut handle) => ended,
        signal = signals.next() => {
            handle.finish(search, "abandoned").await;
            return Ok(Found::Stopped(signal));
        }
    };
    let outcome = match &ended {
        Ok(Ended::Value(_)) => "succeeded",
        _ => "abandoned",
    };
    let finished = handle.finish(search, outcome).await;
    Ok(match ended? {
        Ended::Value(disclosed) => Found::Value(Box::new(Value {
            disclosed,
            received_at: finished.and_then(|attempt| attempt.received_at),
            opened_at: handle.opened_at,
        })),
        Ended::Consumed { at } => Found::None(Miss::AlreadyConsumed { at }),
        Ended::Without(attempt) => {
            Found::None(Miss::of(&attempt).unwrap_or_else(|| Miss::of_ended(finished.as_ref())))
        }
    })
}

async fn wait(search: &Search<'_>, handle: &mut Handle) -> Result<Ended, CallError> {
    let until = Instant::now() + search.timeout;
    let (mut pace, mut patience) = (Pace::new(), Patience::new(until));
    let mut retries = 0;
    loop {
        let began = Instant::now();
        let left = until.saturating_duration_since(began);
        let consumed = match handle.consume(search, left).await {
            Ok(consumed) => consumed,
            Err(error) => {
                patience.after(error, &mut pace).await?;
                continue;
            }
        };
        patience.answered();
        match consumed {
            AttemptConsumption::Value(value) => return Ok(Ended::Value(value)),
            // The value arrived or was replaced at this moment.
            AttemptConsumption::NotReady(attempt)
                if attempt.is_ready() && retries < MAX_RETRIES =>
            {
                retries += 1;
            }
            AttemptConsumption::NotReady(attempt) if left.is_zero() => {
                return Ok(Ended::Without(attempt));
            }
            AttemptConsumption::Already { consumed_at } if left.is_zero() => {
                return Ok(Ended::Consumed { at: consumed_at });
            }
            // A newer value may still arrive.
            AttemptConsumption::NotReady(_) | AttemptConsumption::Already { .. } => {}
        }
        pace.after(began, until.max(began)).await;
    }
}
