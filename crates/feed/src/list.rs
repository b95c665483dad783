//! `GET /v1/inboxes/{inbox}/artifacts`: the items of an inbox, in order.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{ArtifactView, InboxId, Seq, StoreError};
use serde::{Deserialize, Serialize};

use crate::auth::Caller;
use crate::item::Item;
use crate::problem::Problem;
use crate::routes::Feed;
use crate::{cursor, reply, wait};

/// The store has deadlines of its own; this one holds when they do not. Only
/// the wait for the answer ends here, never the database's work.
const STORE_PATIENCE: Duration = Duration::from_millis(2700);

/// RFC 7240: how a client asks for a wait without changing the address.
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The parameters; any other is refused, for a misspelt `wait` that is ignored
/// costs its writer an afternoon.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    after: Option<String>,
    limit: Option<u32>,
    wait: Option<u64>,
}

/// Where in which inbox a page begins, and how long it may be.
pub(crate) struct Place {
    pub(crate) inbox: InboxId,
    after: Seq,
    limit: u32,
}

impl Place {
    /// The items that are there right now.
    pub(crate) async fn look(&self, feed: &Feed) -> Result<Vec<ArtifactView>, Problem> {
        patiently(feed.deps.log.artifacts(&self.inbox, self.after, self.limit)).await
    }
}

/// One page.
#[derive(Serialize)]
struct Page {
    items: Vec<Item>,
    next_cursor: String,
}

/// Lists what comes after a cursor, oldest first, and waits for it if asked.
///
/// Returns: 200 with a page, which is empty and repeats the cursor when nothing
/// is there; 400 for an unknown or odd parameter or a cursor of another inbox;
/// 401 without a key; 404 for an inbox that the key does not cover; 429 when the
/// key has too many waits open; 503 when the store is away.
pub(crate) async fn list(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&feed, &path, &caller).await?;
    let parameters = parameters_of(&request)?;
    let place = place_of(&feed, inbox, &parameters)?;
    let (patience, preferred) = patience_of(&feed, &parameters, request.headers())?;

    let views = if patience.is_zero() {
        place.look(&feed).await?
    } else {
        let _seat = feed.room.enter(&caller.consumer)?;
        wait::arrivals(&feed, &place, patience).await?
    };

    let mut response = page(&feed, &place, views);
    if let Some(applied) = preferred {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}

/// An inbox outside the caller's scope is answered like one that cannot be.
async fn inbox_of(feed: &Feed, path: &str, caller: &Caller) -> Result<InboxId, Problem> {
    let inbox: InboxId = path.parse().map_err(|_unfit| Problem::NotFound)?;
    // What the key names needs no look: it may be listed before its first mail.
    if caller.scope.covers(&inbox, None) {
        return Ok(inbox);
    }
    let look = feed.deps.inboxes.inbox(&inbox, &caller.scope);
    let known = patiently(look).await?;
    known.map(|_| inbox).ok_or(Problem::NotFound)
}

/// Waits for the store, but not for ever.
pub(crate) async fn patiently<T>(
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, Problem> {
    match tokio::time::timeout(STORE_PATIENCE, work).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Problem::TemporarilyUnavailable),
    }
}

fn parameters_of(request: &HttpRequest) -> Result<Parameters, Problem> {
    web::Query::from_query(request.query_string())
        .map(web::Query::into_inner)
        .map_err(|_unfit| Problem::InvalidParameter)
}

fn place_of(feed: &Feed, inbox: InboxId, parameters: &Parameters) -> Result<Place, Problem> {
    let most = feed.deps.settings.page_limit;
    let limit = parameters.limit.unwrap_or(most);
    if !(1..=most).contains(&limit) {
        return Err(Problem::InvalidParameter);
    }
    let after = match &parameters.after {
        Some(text) => {
            cursor::read(&feed.deps.cursor_key, &inbox, text).ok_or(Problem::InvalidCursor)?
        }
        None => Seq::START,
    };
    Ok(Place {
        inbox,
        after,
        limit,
    })
}

/// How long to wait, and what to say of it if it came as a preference. A
/// parameter is an order and refused when it asks too much; a preference is a
/// wish and cut down, as RFC 7240 has it.
fn patience_of(
    feed: &Feed,
    parameters: &Parameters,
    headers: &HeaderMap,
) -> Result<(Duration, Option<HeaderValue>), Problem> {
    let most = feed.deps.settings.wait_limit;
    if let Some(seconds) = parameters.wait {
        let patience = Duration::from_secs(seconds);
        return if patience <= most {
            Ok((patience, None))
        } else {
            Err(Problem::InvalidParameter)
        };
    }
    let preferred = preferred_wait(headers).map(|seconds| seconds.min(most.as_secs()));
    let applied = preferred.and_then(|s| HeaderValue::try_from(format!("wait={s}")).ok());
    Ok((Duration::from_secs(preferred.unwrap_or(0)), applied))
}

/// The first `wait=N` among the preferences; odd ones are ignored.
fn preferred_wait(headers: &HeaderMap) -> Option<u64> {
    headers
        .get_all(PREFER)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next()?.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
        .find_map(|(_, seconds)| seconds.trim().parse().ok())
}

fn page(feed: &Feed, place: &Place, views: Vec<ArtifactView>) -> HttpResponse {
    let last = views.last().map_or(place.after, |view| view.seq);
    let page = Page {
        next_cursor: cursor::write(&feed.deps.cursor_key, &place.inbox, last),
        items: views.into_iter().map(Item::of).collect(),
    };
    reply::json(StatusCode::OK, "application/json", &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_wait_is_found_among_other_preferences() {
        let headers = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(PREFER, HeaderValue::from_static(text));
            headers
        };
        assert_eq!(preferred_wait(&headers("wait=25")), Some(25));
        assert_eq!(
            preferred_wait(&headers("respond-async, Wait = 7; x=1")),
            Some(7)
        );
        for none in ["", "wait", "wait=-1", "wait=soon", "await=3"] {
            assert_eq!(preferred_wait(&headers(none)), None, "{none:?}");
        }
    }
}
