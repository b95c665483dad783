//! `GET /v1/events`: the items of an inbox as server-sent events.
//!
//! One stream is one inbox, for an event's id is a cursor, and a cursor is a
//! place in one inbox: a client that comes back with `Last-Event-ID` goes on
//! where it was, without a gap and without a repeat.

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

use crate::auth::Caller;
use crate::cursor::Cursor;
use crate::item::Item;
use crate::list::{Place, inbox_of, parameters_of, place_of};
use crate::problem::Problem;
use crate::reply;
use crate::routes::Feed;
use crate::wait::{Seat, Woken, woken};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// nginx collects an answer before it passes it on, unless it is told not to.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Proxies end what is silent for a minute or less; and a client that is gone
/// is noticed when there is something to write to it.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// After how many milliseconds a client is to come back.
const RETRY: &str = "retry: 2000\n\n";

/// The parameters; any other is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    inbox: String,
    after: Option<String>,
}

/// Streams what comes after a cursor, oldest first, and then whatever arrives.
///
/// Returns: 200 with the stream, which ends with `shutdown` when the process
/// stops and with `problem` when it cannot go on; 400 for an unknown or odd
/// parameter or a cursor of another inbox; 401 without a key; 403 without the
/// scope; 404 for an inbox that the key does not cover; 409 for a cursor from a
/// database that was put back since; 410 for one from before what is kept; 429
/// when the key has too many waits open; 503 when the store is away.
pub(crate) async fn events(
    request: HttpRequest,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let parameters: Parameters = parameters_of(&request)?;
    let inbox = inbox_of(&feed, &parameters.inbox, &caller).await?;
    let after = last_event_id(request.headers())?.or(parameters.after);
    let place = place_of(&feed, inbox, after.as_deref(), None)?;
    let seat = feed.room.enter(&caller.consumer)?;
    // Watch first and look second, here as everywhere.
    let arrival = feed.deps.log.watch(&place.inbox);
    // The first look is before the answer: a client that is told 200 comes back
    // for ever, and one that is told 410 does not.
    let views = place.look(&feed).await?;
    let mut stream = Stream {
        arrival,
        beat_at: Instant::now() + HEARTBEAT,
        phase: Phase::Open,
        feed,
        caller,
        place,
        _seat: seat,
    };
    stream.phase = Phase::New(format!("{RETRY}{}", stream.tell(views)));
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_ACCEL_BUFFERING, "no"))
        .streaming(stream::unfold(stream, Stream::next)))
}

/// Where the client was when its last stream ended. It is sent by the client's
/// own machinery, so it outranks the address it was given at first.
fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_odd| Problem::InvalidCursor)?;
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

struct Stream {
    feed: web::Data<Feed>,
    caller: Caller,
    place: Place,
    arrival: Box<dyn InboxWatch>,
    beat_at: Instant,
    phase: Phase,
    _seat: Seat,
}

enum Phase {
    /// With what was there already.
    New(String),
    Open,
    Over,
}

impl Stream {
    /// The next bytes, and the stream after them.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let text = match std::mem::replace(&mut self.phase, Phase::Open) {
            Phase::New(text) => text,
            Phase::Open => self.news().await.unwrap_or_else(|problem| {
                self.phase = Phase::Over;
                parting(&problem)
            }),
            Phase::Over => return None,
        };
        Some((Ok(Bytes::from(text)), self))
    }

    /// What is new, or that nothing is. A store that goes away is waited for until
    /// the next beat, for a client that is told of it may not come back.
    async fn news(&mut self) -> Result<String, Problem> {
        loop {
            let looked = self.place.look(&self.feed).await;
            let looked = match looked {
                Ok(views) if !views.is_empty() => {
                    self.caller.still_stands(&self.feed).await?;
                    return Ok(self.tell(views));
                }
                Err(problem) if !problem.is_passing() => return Err(problem),
                Ok(_) => Ok(()),
                Err(problem) => Err(problem),
            };
            let (arrival, beat_at) = (&mut *self.arrival, self.beat_at);
            match woken(&self.feed, arrival, beat_at, looked.is_err()).await {
                Woken::ToLook => {}
                Woken::ByTheHour => {
                    looked?;
                    self.caller.still_stands(&self.feed).await?;
                    self.beat_at = Instant::now() + HEARTBEAT;
                    return Ok(": still here\n\n".to_owned());
                }
                Woken::ToEnd => {
                    self.phase = Phase::Over;
                    return Ok("event: shutdown\ndata: {}\n\n".to_owned());
                }
            }
        }
    }

    /// The items as events; the place moves behind them.
    fn tell(&mut self, views: Vec<ArtifactView>) -> String {
        let mut text = String::new();
        for view in views {
            let seen = Cursor::behind(&view);
            self.place.after = Some(seen);
            let cursor = self.place.text_of(&self.feed, seen);
            let item = reply::text(&Item::of(view));
            // Writing into a string cannot fail.
            let _ = write!(text, "id: {cursor}\nevent: artifact\ndata: {item}\n\n");
        }
        text
    }
}

/// Why the stream ends, in the words of the problem. The client may come back,
/// and is then answered with a status.
fn parting(problem: &Problem) -> String {
    format!("event: problem\ndata: {}\n\n", problem.text())
}
