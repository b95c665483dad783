//! `GET /v1/inboxes/{inbox}/artifacts`: the items of an inbox, in order.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{ArtifactView, InboxId, Seq};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::auth::Caller;
use crate::cursor::Cursor;
use crate::item::Item;
use crate::patience::{PREFERENCE_APPLIED, Patience, patiently};
use crate::problem::Problem;
use crate::routes::Feed;
use crate::{reply, wait};

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
    /// Nothing stands for the beginning, wherever that is by now.
    pub(crate) after: Option<Cursor>,
    limit: u32,
}

impl Place {
    /// The items that are there right now without a gap between them, unless
    /// some that the reader has not seen were discarded, or the database was put
    /// back since the reader was here.
    pub(crate) async fn look(&self, feed: &Feed) -> Result<Vec<ArtifactView>, Problem> {
        let log = &feed.deps.log;
        // One more than the page holds, from one place before it: what stands at
        // the reader's place says whether the reader was ever there.
        let before = Seq::new(self.start().number() - 1);
        let mut views = patiently(log.artifacts(&self.inbox, before, self.limit + 1)).await?;
        let is_here = views.first().is_some_and(|view| view.seq == self.start());
        let here = is_here.then(|| views.remove(0));
        if self.after.is_some_and(|after| !after.fits(here.as_ref())) {
            return Err(Problem::CursorEpochChanged);
        }
        if let Some(after) = self.after
            && !follows(after.seq, views.first())
        {
            self.explain(feed, after.seq, views.first()).await?;
        }
        let gap = views.windows(2).position(|pair| match pair {
            [one, next] => !follows(one.seq, Some(next)),
            _ => false,
        });
        // Whoever comes back from the place before a gap is told of it.
        views.truncate(gap.map_or(views.len(), |at| at + 1));
        views.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        Ok(views)
    }

    /// Why the next item, if there is one, is not the one behind the reader:
    /// nothing has come, which is no problem; or what came was discarded; or the
    /// reader comes from ahead.
    async fn explain(
        &self,
        feed: &Feed,
        after: Seq,
        next: Option<&ArtifactView>,
    ) -> Result<(), Problem> {
        let reach = patiently(feed.deps.log.feed_bounds(&self.inbox)).await?;
        if after > reach.last {
            return Err(Problem::CursorEpochChanged);
        }
        let oldest = match next {
            Some(view) => Seq::new(view.seq.number() - 1),
            None if after < reach.purged => reach.purged,
            None => return Ok(()),
        };
        let oldest = Cursor::behind_gone(oldest);
        Err(Problem::CursorExpired(self.text_of(feed, oldest)))
    }

    /// Where a reader who has seen these items stands. Whoever began without a
    /// cursor and saw nothing stands behind all that was discarded.
    async fn after_seeing(&self, feed: &Feed, views: &[ArtifactView]) -> Result<Cursor, Problem> {
        match (views.last(), self.after) {
            (Some(view), _) => Ok(Cursor::behind(view)),
            (None, Some(after)) => Ok(after),
            (None, None) => {
                let reach = patiently(feed.deps.log.feed_bounds(&self.inbox)).await?;
                Ok(Cursor::behind_gone(reach.purged))
            }
        }
    }

    fn start(&self) -> Seq {
        self.after.map_or(Seq::START, |after| after.seq)
    }

    /// The text that stands for a cursor of this inbox.
    pub(crate) fn text_of(&self, feed: &Feed, cursor: Cursor) -> String {
        cursor.write(&feed.deps.cursor_key, &self.inbox)
    }
}

/// Whether an item has the place behind another.
fn follows(place: Seq, next: Option<&ArtifactView>) -> bool {
    next.is_some_and(|view| view.seq.number() == place.number() + 1)
}

/// One page.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ArtifactPage)]
pub(crate) struct Page {
    items: Vec<Item>,
    next_cursor: String,
}

/// Lists what comes after a cursor, oldest first, and waits for it if asked.
///
/// Returns: 200 with a page, which is empty and repeats the cursor when nothing
/// is there; 400 for an unknown or odd parameter or a cursor of another inbox;
/// 401 without a key; 404 for an inbox that the key does not cover; 409 for a
/// cursor from a database that was put back since; 410 for one from before what is
/// kept; 429 when the key has too many waits open; 503 when the store is away.
pub(crate) async fn list(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&feed, &path, &caller).await?;
    let parameters: Parameters = parameters_of(&request)?;
    let place = place_of(&feed, inbox, parameters.after.as_deref(), parameters.limit)?;
    let most = feed.deps.settings.wait_limit;
    let patience = Patience::of(parameters.wait, request.headers(), most)?;

    let views = if patience.span.is_zero() {
        place.look(&feed).await?
    } else {
        let _seat = feed.room.enter(&caller.consumer)?;
        let views = wait::arrivals(&feed, &place, patience.span).await?;
        caller.still_stands(&feed).await?;
        views
    };

    let last = place.after_seeing(&feed, &views).await?;
    let mut response = page(&feed, &place, last, views);
    if let Some(applied) = patience.applied {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}

/// An inbox outside the caller's scope is answered like one that cannot be.
pub(crate) async fn inbox_of(feed: &Feed, path: &str, caller: &Caller) -> Result<InboxId, Problem> {
    let inbox: InboxId = path.parse().map_err(|_unfit| Problem::NotFound)?;
    // What the key names needs no look: it may be listed before its first mail.
    if caller.scope.covers(&inbox, None) {
        return Ok(inbox);
    }
    let look = feed.deps.inboxes.inbox(&inbox, &caller.scope);
    let known = patiently(look).await?;
    known.map(|_| inbox).ok_or(Problem::NotFound)
}

pub(crate) fn parameters_of<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, Problem> {
    web::Query::from_query(request.query_string())
        .map(web::Query::into_inner)
        .map_err(|_unfit| Problem::InvalidParameter)
}

pub(crate) fn place_of(
    feed: &Feed,
    inbox: InboxId,
    after: Option<&str>,
    limit: Option<u32>,
) -> Result<Place, Problem> {
    let most = feed.deps.settings.page_limit;
    let limit = limit.unwrap_or(most);
    if !(1..=most).contains(&limit) {
        return Err(Problem::InvalidParameter);
    }
    let after = match after {
        Some(text) => {
            let after = Cursor::read(&feed.deps.cursor_key, &inbox, text);
            Some(after.ok_or(Problem::InvalidCursor)?)
        }
        None => None,
    };
    Ok(Place {
        inbox,
        after,
        limit,
    })
}

fn page(feed: &Feed, place: &Place, last: Cursor, views: Vec<ArtifactView>) -> HttpResponse {
    let page = Page {
        next_cursor: place.text_of(feed, last),
        items: views.into_iter().map(Item::of).collect(),
    };
    reply::json(StatusCode::OK, "application/json", &page)
}
