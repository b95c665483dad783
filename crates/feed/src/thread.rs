//! `/v1/threads`: in which threads a person must answer, and giving them back to agents.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{InboxId, MessageId, ThreadId, ThreadReleased, ThreadView, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::http::body::{EmptyBody, read_body};
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// A thread.
#[derive(Serialize, ToSchema)]
#[schema(as = Thread)]
pub(crate) struct ThreadBody {
    #[schema(value_type = String)]
    id: ThreadId,
    #[schema(value_type = String)]
    inbox: InboxId,
    #[schema(value_type = String)]
    state: &'static str,
    /// The cap that was reached: `thread_burst`, `thread_day`, `person_burst`,
    /// `person_day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The message whose reply was one too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    message: Option<MessageId>,
    /// How many replies were recorded in it.
    replies: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    handed_over_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    released_at: Option<Timestamp>,
}

/// A page of threads.
#[derive(Serialize, ToSchema)]
#[schema(as = ThreadPage)]
pub(crate) struct ThreadPageBody {
    items: Vec<ThreadBody>,
}

impl ThreadBody {
    fn new(view: ThreadView) -> Self {
        Self {
            id: view.id,
            inbox: view.inbox,
            state: view.state.as_str(),
            reason: view.reason.map(|reason| reason.to_string()),
            message: view.message,
            replies: view.replies,
            handed_over_at: view.handed_over_at,
            released_at: view.released.map(|(at, _)| at),
        }
    }
}

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    limit: Option<u32>,
}

/// Lists the threads that are handed over, newest first.
///
/// Returns: 200; 400 for an invalid parameter; 401 without a valid key; 403 without the
/// scope; 503 if the store is unavailable.
pub(crate) async fn list(
    request: HttpRequest,
    _caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let parameters: Parameters = parameters_of(&request)?;
    let max = feed.deps.settings.page_limit;
    let limit = parameters.limit.unwrap_or(max);
    if !(1..=max).contains(&limit) {
        return Err(Problem::InvalidParameter);
    }
    let threads = ask_store(feed.deps.threads.handed_over(limit)).await?;
    let items = threads.into_iter().map(ThreadBody::new).collect();
    Ok(reply::json(StatusCode::OK, &ThreadPageBody { items }))
}

/// Returns a thread; 404 for one in which nothing was sent, or that does not exist for the
/// caller.
pub(crate) async fn show(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let thread = thread_of(&path)?;
    let view = ask_store(feed.deps.threads.thread(thread, &caller.scope)).await?;
    let body = ThreadBody::new(view.ok_or(Problem::NotFound)?);
    Ok(reply::json(StatusCode::OK, &body))
}

/// Lets agents answer in a thread again; one that is open stays so. 404 for an unknown
/// thread.
pub(crate) async fn release(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let EmptyBody {} = read_body(&request, payload, &feed).await?;
    let thread = thread_of(&path)?;
    let released = feed.deps.threads.release_thread(thread, &caller.consumer);
    match ask_store(released).await? {
        ThreadReleased::Done(view) | ThreadReleased::NotHandedOver(view) => {
            Ok(reply::json(StatusCode::OK, &ThreadBody::new(view)))
        }
        ThreadReleased::Unknown => Err(Problem::NotFound),
    }
}

/// The thread that a path names. A malformed id is answered like an unknown one.
fn thread_of(path: &str) -> Result<ThreadId, Problem> {
    path.parse().map_err(|_invalid| Problem::NotFound)
}
