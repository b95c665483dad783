//! `POST /v1/sends/batch`: sends up to a hundred mails. Each is answered for itself.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use pipeline::{IdempotencyKey, RequestKind};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::order::{Outcome, place};
use super::order_body::SendRequestBody;
use super::send_body::SendBody;
use crate::auth::Caller;
use crate::http::body::read_long_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::Problem;
use crate::http::reply;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The most sends in one request.
const MAX_SENDS: usize = 100;

/// The request body.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = SendBatchWish)]
pub(crate) struct BatchRequestBody {
    /// The sends, without `wait`.
    #[schema(required = true)]
    sends: Vec<SendRequestBody>,
}

impl RequestBody for BatchRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let rule = "1 to 100 sends, each as for POST /v1/sends and without wait";
        let schema = json!({ "minItems": 1, "maxItems": MAX_SENDS });
        vec![Field::new("sends", rule, schema)]
    }
}

/// The answers, in the order of the sends.
#[derive(Serialize, ToSchema)]
#[schema(as = SendBatch)]
pub(crate) struct BatchBody {
    items: Vec<BatchItemBody>,
}

/// The answer to one send: the send, or the problem.
#[derive(Serialize, ToSchema)]
#[schema(as = SendBatchItem)]
struct BatchItemBody {
    /// The status that the send alone would have got.
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    send: Option<SendBody>,
    /// The last part of the problem's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    problem: Option<&'static str>,
    /// What is wrong, as the problem says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Asks for many mails. One that is refused does not stop the others.
///
/// Returns: 200 with an answer for each send, in their order; 400 if the body as a whole
/// is invalid; 401 without a valid key; 403 without the scope; 503 if the store became
/// unavailable: repeat the request, what was recorded is found.
pub(crate) async fn order_many(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: BatchRequestBody = read_long_body(&request, payload, &feed).await?;
    let is_waiting = |send: &SendRequestBody| send.wait > 0;
    if !(1..=MAX_SENDS).contains(&body.sends.len()) || body.sends.iter().any(is_waiting) {
        return Err(Fields::of::<BatchRequestBody>(&feed).invalid("sends"));
    }
    let mut items = Vec::with_capacity(body.sends.len());
    for (index, send) in body.sends.into_iter().enumerate() {
        let outcome = order_one(&feed, &caller, send, key.as_ref(), index).await;
        if let Err(problem) = &outcome
            && problem.is_temporary()
        {
            return Err(Problem::TemporarilyUnavailable);
        }
        items.push(BatchItemBody::new(outcome));
    }
    Ok(reply::json(StatusCode::OK, &BatchBody { items }))
}

async fn order_one(
    feed: &Feed,
    caller: &Caller,
    send: SendRequestBody,
    key: Option<&IdempotencyKey>,
    index: usize,
) -> Result<Outcome, Problem> {
    let tag = request_tag(feed, RequestKind::Send, "", &send)?;
    let key = key.map(|key| key_of_item(feed, key, index)).transpose()?;
    let asked = keyed_request(caller, RequestKind::Send, key, tag);
    let fields = Fields::of::<SendRequestBody>(feed);
    place(feed, send.into_order(&fields, caller, asked)?).await
}

/// The idempotency key of one send of a batch.
fn key_of_item(feed: &Feed, key: &IdempotencyKey, index: usize) -> Result<IdempotencyKey, Problem> {
    let key = key.as_str().as_bytes();
    let number = index.to_string();
    let tag = feed
        .deps
        .cursor_key
        .tag(&[b"send batch", key, number.as_bytes()]);
    let text = format!("batch:{:032x}", u128::from_be_bytes(tag));
    text.parse().map_err(|_never| Problem::Internal)
}

impl BatchItemBody {
    fn new(outcome: Result<Outcome, Problem>) -> Self {
        let (status, send) = match outcome {
            Ok(Outcome::New(view)) => (StatusCode::CREATED, view),
            Ok(Outcome::Known(view)) => (StatusCode::OK, view),
            Err(problem) => {
                return Self {
                    status: problem.status_code().as_u16(),
                    send: None,
                    problem: Some(problem.slug()),
                    detail: Some(problem.to_string()),
                };
            }
        };
        Self {
            status: status.as_u16(),
            send: Some(SendBody::new(send)),
            problem: None,
            detail: None,
        }
    }
}
