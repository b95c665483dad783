//! `GET /v1/inboxes`: the caller's inboxes.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::InboxId;
use serde::{Deserialize, Serialize};

use super::inbox_body::InboxBody;
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    after: Option<String>,
    limit: Option<u32>,
}

/// One page.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = InboxPage)]
pub(crate) struct InboxPageBody {
    items: Vec<InboxBody>,
}

/// Lists the caller's inboxes in order of their addresses, starting after `after`.
pub(crate) async fn list(
    request: HttpRequest,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let parameters: Parameters = parameters_of(&request)?;
    let max = feed.deps.settings.page_limit;
    let limit = parameters.limit.unwrap_or(max);
    let after = parameters.after.map(|address| address.parse());
    let after: Option<InboxId> = after
        .transpose()
        .map_err(|_invalid| Problem::InvalidCursor)?;
    if !(1..=max).contains(&limit) {
        return Err(Problem::InvalidParameter);
    }
    let inboxes = &feed.deps.inboxes;
    let views = ask_store(inboxes.inboxes(&caller.scope, after.as_ref(), limit)).await?;
    let items = views
        .into_iter()
        .map(|view| InboxBody::new(view, &caller.scope))
        .collect();
    Ok(reply::json(StatusCode::OK, &InboxPageBody { items }))
}
