//! `GET /v1/sends/{send}`: the state of a send.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{SendId, SendState, SendView};
use serde::Deserialize;
use tokio::time::Instant;

use super::send_body::SendBody;
use super::send_of;
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::http::timeout::{WaitTime, ask_store};
use crate::items::{WakeUp, sleep_until_change};
use crate::state::{Feed, WaitSlot};

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    wait: Option<u64>,
}

/// Returns the state of a send, and waits until it is known if asked.
///
/// Returns: 200 with the send; 400 for an invalid parameter; 401 without a valid key; 403
/// without the scope; 404 for an unknown send; 429 if the key has too many waits open; 503
/// if the store is unavailable.
pub(crate) async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let send = send_of(&path)?;
    let parameters: Parameters = parameters_of(&request)?;
    let max = feed.deps.settings.wait_limit;
    let wait = WaitTime::requested(parameters.wait, request.headers(), max)?;
    let view = read(&feed, send).await?;
    let view = match begin_wait(&feed, &caller, &view, wait.timeout) {
        BegunWait::Open(open) => open.until_settled(&feed, &caller, view).await?,
        BegunWait::Needless => view,
        BegunWait::NoSlot => return Err(Problem::TooManyWaits),
    };
    Ok(wait.report(reply::json(StatusCode::OK, &SendBody::new(view))))
}

/// The send that a request has recorded or found, as soon as it is sent, has failed, was
/// cancelled or is uncertain. If all waits of the key are in use, it is answered at once: a
/// 429 would say that nothing was recorded.
pub(super) async fn settled_if_possible(
    feed: &Feed,
    caller: &Caller,
    recorded: SendView,
    timeout: Duration,
) -> Result<SendView, Problem> {
    match begin_wait(feed, caller, &recorded, timeout) {
        BegunWait::Open(open) => open.until_settled(feed, caller, recorded).await,
        BegunWait::Needless | BegunWait::NoSlot => Ok(recorded),
    }
}

/// Whether a request waits for a send.
enum BegunWait {
    Open(OpenWait),
    /// No wait was asked for, or the state is known.
    Needless,
    /// All waits of the key are in use.
    NoSlot,
}

/// A wait that holds its slot.
struct OpenWait {
    until: Instant,
    _slot: WaitSlot,
}

fn begin_wait(feed: &Feed, caller: &Caller, view: &SendView, timeout: Duration) -> BegunWait {
    if timeout.is_zero() || is_settled(view) {
        return BegunWait::Needless;
    }
    let until = Instant::now() + timeout;
    let slot = feed.wait_slots.take(&caller.consumer);
    slot.map_or(BegunWait::NoSlot, |slot| {
        BegunWait::Open(OpenWait { until, _slot: slot })
    })
}

impl OpenWait {
    /// The send as soon as its state is known; or after the timeout, or when the process is
    /// stopping.
    async fn until_settled(
        self,
        feed: &Feed,
        caller: &Caller,
        first: SendView,
    ) -> Result<SendView, Problem> {
        // Subscribe before reading: a change between the two then wakes this wait.
        let mut change = feed.deps.sends.watch_send(first.id);
        loop {
            // If the store becomes unavailable during the wait, the wait goes on.
            let result = read(feed, first.id).await;
            match &result {
                Ok(view) if is_settled(view) => break,
                Err(problem) if !problem.is_temporary() => return result,
                Ok(_) | Err(_) => {}
            }
            match sleep_until_change(feed, &mut *change, self.until, result.is_err()).await {
                WakeUp::Changed => {}
                WakeUp::TimedOut => break,
                WakeUp::Stopping => return result,
            }
        }
        caller.require_valid_key(feed).await?;
        read(feed, first.id).await
    }
}

fn is_settled(view: &SendView) -> bool {
    view.state.is_final() || view.state == SendState::Uncertain
}

async fn read(feed: &Feed, send: SendId) -> Result<SendView, Problem> {
    let view = ask_store(feed.deps.sends.send(send)).await?;
    view.ok_or(Problem::NotFound)
}
