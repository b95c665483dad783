//! `GET /v1/audit`: who consumed which artifact. It needs the scope `operator`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{ArtifactId, ArtifactKind, ConsumeRecord, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    before: Option<String>,
    limit: Option<u32>,
}

/// One consume, without its value.
#[derive(Serialize, ToSchema)]
#[schema(as = Consume)]
pub(crate) struct ConsumeBody {
    #[schema(value_type = String)]
    artifact: ArtifactId,
    /// The API key's or the callback's name.
    consumer: String,
    #[schema(value_type = String, format = DateTime)]
    consumed_at: Timestamp,
    /// What the consumer asked for: `attempt`, `artifact` or `callback`.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<String>,
    /// Missing once the artifact was deleted, as are the two below.
    #[serde(skip_serializing_if = "Option::is_none")]
    inbox: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<String>,
}

/// One page.
#[derive(Serialize, ToSchema)]
#[schema(as = ConsumePage)]
pub(crate) struct ConsumePageBody {
    items: Vec<ConsumeBody>,
}

impl From<ConsumeRecord> for ConsumeBody {
    fn from(record: ConsumeRecord) -> Self {
        Self {
            artifact: record.artifact,
            consumer: record.consumer,
            consumed_at: record.at,
            way: record.way,
            inbox: record.inbox.map(|inbox| inbox.to_string()),
            kind: record.kind.map(ArtifactKind::as_str),
            attempt: record.attempt.map(|attempt| attempt.to_string()),
        }
    }
}

/// Lists consumes, newest first. `before` is the artifact of the last consume of the page
/// before.
///
/// Returns: 200 with a page; 400 for an invalid parameter.
pub(crate) async fn list(
    request: HttpRequest,
    _operator: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let parameters: Parameters = parameters_of(&request)?;
    let max = feed.deps.settings.page_limit;
    let limit = parameters.limit.unwrap_or(max);
    let before = parameters.before.map(|id| id.parse::<ArtifactId>());
    let before = before
        .transpose()
        .map_err(|_invalid| Problem::InvalidParameter)?;
    if !(1..=max).contains(&limit) {
        return Err(Problem::InvalidParameter);
    }
    let records = ask_store(feed.deps.audit.consumes(before, limit)).await?;
    let items = records.into_iter().map(ConsumeBody::from).collect();
    Ok(reply::json(StatusCode::OK, &ConsumePageBody { items }))
}
