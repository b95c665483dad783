//! `GET /v1/events`: the items of an inbox as server-sent events.
//!
//! One stream serves one inbox, because the id of an event is a cursor, and a cursor
//! belongs to one inbox. A client that reconnects with `Last-Event-ID` continues
//! without a gap and without a repeated item.

use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, HeaderMap, HeaderName};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream;
use pipeline::{ArtifactView, InboxWatch};
use serde::Deserialize;
use tokio::time::Instant;

use super::cursor::Cursor;
use super::item_body::ItemBody;
use super::page_request::{PageRequest, visible_inbox};
use super::shown_sender::{SenderDetail, ShownSender};
use super::wait::{WakeUp, sleep_until_change};
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::state::{Feed, WaitSlot};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// nginx buffers a response unless this header forbids it.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Many proxies close a connection that is silent for a minute. Writing also detects
/// a client that has disconnected.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// After how many milliseconds a client should reconnect.
const RETRY: &str = "retry: 2000\n\n";

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    inbox: String,
    after: Option<String>,
    from: Option<String>,
    sender: Option<SenderDetail>,
}

/// Streams the items after a cursor, oldest first, and then each new one.
///
/// Returns: 200 with the stream, which ends with `shutdown` when the process stops and
/// with `problem` when it cannot continue; 400 for an invalid parameter or a cursor of
/// another inbox; 401 without a valid key; 403 without the scope; 404 for an inbox that
/// the key may not see; 409 if the database was restored after the cursor was issued;
/// 410 if items after the cursor were deleted; 429 if the key has too many waits open;
/// 503 if the store is unavailable.
pub(crate) async fn events(
    request: HttpRequest,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let parameters: Parameters = parameters_of(&request)?;
    let inbox = visible_inbox(&feed, &parameters.inbox, &caller).await?;
    let policy = &feed.deps.policy;
    let shown = ShownSender::requested(policy, parameters.from.as_deref(), parameters.sender)?;
    let after = last_event_id(request.headers())?.or(parameters.after);
    let page = PageRequest::new(&feed, inbox, after.as_deref(), None)?;
    let slot = feed.wait_slots.take(&caller.consumer);
    let slot = slot.ok_or(Problem::TooManyWaits)?;
    // Subscribe before reading, so that no item is missed between the two.
    let arrival = feed.deps.log.watch(&page.inbox);
    // The first read happens before the response begins: a client that gets 200
    // reconnects for ever, and one that gets 410 does not.
    let views = page.read(&feed).await?;
    let mut stream = EventStream {
        arrival,
        heartbeat_at: Instant::now() + HEARTBEAT,
        phase: Phase::Open,
        feed,
        caller,
        page,
        shown,
        _slot: slot,
    };
    stream.phase = Phase::First(format!("{RETRY}{}", stream.write_events(views)));
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_ACCEL_BUFFERING, "no"))
        .streaming(stream::unfold(stream, EventStream::next)))
}

/// The cursor at which the client's last stream ended. The client's `EventSource`
/// sends it on each reconnect, so it overrides the parameter of the original URL.
fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_invalid| Problem::InvalidCursor)?;
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

struct EventStream {
    feed: web::Data<Feed>,
    caller: Caller,
    page: PageRequest,
    shown: ShownSender,
    arrival: Box<dyn InboxWatch>,
    heartbeat_at: Instant,
    phase: Phase,
    _slot: WaitSlot,
}

enum Phase {
    /// The items that existed at the start are still to be sent.
    First(String),
    Open,
    AttemptFinished,
}

impl EventStream {
    /// The next bytes, and the stream after them.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let text = match std::mem::replace(&mut self.phase, Phase::Open) {
            Phase::First(text) => text,
            Phase::Open => self.next_events().await.unwrap_or_else(|problem| {
                self.phase = Phase::AttemptFinished;
                problem_event(&problem)
            }),
            Phase::AttemptFinished => return None,
        };
        Some((Ok(Bytes::from(text)), self))
    }

    /// The next events, or a heartbeat. If the store becomes unavailable, the stream
    /// goes on until the next heartbeat, because a client that gets a problem may not
    /// reconnect.
    async fn next_events(&mut self) -> Result<String, Problem> {
        loop {
            let result = match self.page.read(&self.feed).await {
                Ok(views) if !views.is_empty() => {
                    self.caller.require_valid_key(&self.feed).await?;
                    return Ok(self.write_events(views));
                }
                Err(problem) if !problem.is_temporary() => return Err(problem),
                Ok(_) => Ok(()),
                Err(problem) => Err(problem),
            };
            let (arrival, until) = (&mut *self.arrival, self.heartbeat_at);
            match sleep_until_change(&self.feed, arrival, until, result.is_err()).await {
                WakeUp::Changed => {}
                WakeUp::TimedOut => {
                    result?;
                    self.caller.require_valid_key(&self.feed).await?;
                    self.heartbeat_at = Instant::now() + HEARTBEAT;
                    return Ok(": still here\n\n".to_owned());
                }
                WakeUp::Stopping => {
                    self.phase = Phase::AttemptFinished;
                    return Ok("event: shutdown\ndata: {}\n\n".to_owned());
                }
            }
        }
    }

    /// The items as events. The next read starts after them.
    fn write_events(&mut self, views: Vec<ArtifactView>) -> String {
        let mut text = String::new();
        for view in views {
            let after = Cursor::after(&view);
            self.page.after = Some(after);
            let cursor = self.page.encode(&self.feed, after);
            let item = reply::text(&ItemBody::new(view, &self.shown));
            // Writing to a string cannot fail.
            let _ = write!(text, "id: {cursor}\nevent: artifact\ndata: {item}\n\n");
        }
        text
    }
}

/// Why the stream ends. A client that reconnects gets the problem as a status.
fn problem_event(problem: &Problem) -> String {
    format!("event: problem\ndata: {}\n\n", problem.text())
}
