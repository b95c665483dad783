//! `GET /v1/inboxes/{inbox}/artifacts`: the items of an inbox, in order.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::{Deserialize, Serialize};

use super::item_body::ItemBody;
use super::page_request::{PageRequest, visible_inbox};
use super::shown_sender::{SenderDetail, ShownSender};
use super::wait::wait_for_items;
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::http::timeout::WaitTime;
use crate::state::Feed;

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    after: Option<String>,
    limit: Option<u32>,
    wait: Option<u64>,
    from: Option<String>,
    sender: Option<SenderDetail>,
}

/// One page.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ArtifactPage)]
pub(crate) struct PageBody {
    items: Vec<ItemBody>,
    next_cursor: String,
}

/// Lists the items after a cursor, oldest first, and waits for one if asked.
///
/// Returns: 200 with a page, which is empty and repeats the cursor if there are no
/// items; 400 for an invalid parameter or a cursor of another inbox; 401 without a
/// valid key; 404 for an inbox that the key may not see; 409 if the database was
/// restored after the cursor was issued; 410 if items after the cursor were deleted;
/// 429 if the key has too many waits open; 503 if the store is unavailable.
pub(crate) async fn list(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = visible_inbox(&feed, &path, &caller).await?;
    let parameters: Parameters = parameters_of(&request)?;
    let after = parameters.after.as_deref();
    let page = PageRequest::new(&feed, inbox, after, parameters.limit)?;
    let policy = &feed.deps.policy;
    let shown = ShownSender::requested(policy, parameters.from.as_deref(), parameters.sender)?;
    let max = feed.deps.settings.wait_limit;
    let wait = WaitTime::requested(parameters.wait, request.headers(), max)?;

    let views = if wait.timeout.is_zero() {
        page.read(&feed).await?
    } else {
        let slot = feed.wait_slots.take(&caller.consumer);
        let _slot = slot.ok_or(Problem::TooManyWaits)?;
        let views = wait_for_items(&feed, &page, wait.timeout).await?;
        caller.require_valid_key(&feed).await?;
        views
    };

    let next = page.next_cursor(&feed, &views).await?;
    let body = PageBody {
        next_cursor: page.encode(&feed, next),
        items: views
            .into_iter()
            .map(|view| ItemBody::new(view, &shown))
            .collect(),
    };
    Ok(wait.report(reply::json(StatusCode::OK, &body)))
}
