//! `POST /v1/sends/{send}/cancel`, `approve`, `refuse` and `settle`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{OperatorSettlement, Receipt, SendDecided, SendDecision};
use serde::Deserialize;
use serde_json::json;

use super::send_body::SendBody;
use super::send_of;
use crate::auth::Caller;
use crate::http::body::{EmptyBody, read_body};
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::problem::{Problem, UsedIntent};
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The body of a settlement.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Settlement)]
pub(crate) struct SettleRequestBody {
    /// What became of the send.
    #[schema(value_type = SettleOutcome, required = true)]
    outcome: Option<SettleOutcome>,
    /// The id that the provider gave it, if it was sent.
    result: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum SettleOutcome {
    /// It was sent, or done.
    Sent,
    /// It was not sent, and is sent now; a guard may be claimed again.
    Retry,
    /// It shall not be sent any more; its intent stays used.
    Abandon,
}

impl RequestBody for SettleRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let rule = "1 to 128 letters, digits and `. _ : / + = @ ~ -`";
        let schema =
            json!({ "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9._:/+=@~-]+$" });
        vec![
            Field::word("outcome", &["sent", "retry", "abandon"]),
            Field::new("result", rule, schema),
        ]
    }
}

/// Cancels a send that is `held` or `ready`, and wipes its content.
///
/// Returns: 200 with the send; 400 for a body; 401 without a valid key; 403 without the
/// scope; 404 for an unknown send; 409 `state-conflict` if its state does not allow it,
/// or an earlier dispatch may have reached the provider; 503 if the store is unavailable.
pub(crate) async fn cancel(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let EmptyBody {} = read_body(&request, payload, &feed).await?;
    decide(&feed, &path, &caller, SendDecision::Cancel).await
}

/// Lets a held send be sent. Returns as [`cancel`].
pub(crate) async fn approve(
    request: HttpRequest,
    path: web::Path<String>,
    operator: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let EmptyBody {} = read_body(&request, payload, &feed).await?;
    decide(&feed, &path, &operator, SendDecision::Approve).await
}

/// Cancels a held send. Returns as [`cancel`].
pub(crate) async fn refuse(
    request: HttpRequest,
    path: web::Path<String>,
    operator: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let EmptyBody {} = read_body(&request, payload, &feed).await?;
    decide(&feed, &path, &operator, SendDecision::Refuse).await
}

async fn decide(
    feed: &Feed,
    path: &str,
    caller: &Caller,
    decision: SendDecision,
) -> Result<HttpResponse, Problem> {
    let send = send_of(path)?;
    let decided = feed
        .deps
        .sends
        .decide_send(send, decision, &caller.consumer);
    answer(ask_store(decided).await?)
}

/// Says what became of a send or a guard that is uncertain. That it was sent is accepted
/// in every state.
///
/// Returns: as [`cancel`], and 400 for an invalid body.
pub(crate) async fn settle(
    request: HttpRequest,
    path: web::Path<String>,
    operator: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let body: SettleRequestBody = read_body(&request, payload, &feed).await?;
    let fields = Fields::of::<SettleRequestBody>(&feed);
    let receipt: Option<Receipt> = match body.result.as_deref() {
        Some(result) => Some(
            result
                .parse()
                .map_err(|_invalid| fields.invalid("result"))?,
        ),
        None => None,
    };
    let how = match body.outcome {
        Some(SettleOutcome::Sent) => OperatorSettlement::Sent(receipt),
        Some(SettleOutcome::Retry) => OperatorSettlement::Retry,
        Some(SettleOutcome::Abandon) => OperatorSettlement::Abandon,
        None => return Err(fields.invalid("outcome")),
    };
    let send = send_of(&path)?;
    let settled = feed.deps.sends.settle_send(send, how, &operator.consumer);
    answer(ask_store(settled).await?)
}

fn answer(decided: SendDecided) -> Result<HttpResponse, Problem> {
    match decided {
        SendDecided::Done(view) => Ok(reply::json(StatusCode::OK, &SendBody::new(view))),
        SendDecided::NotNow(view) => Err(Problem::StateConflict(UsedIntent::from(&view))),
        SendDecided::Unknown => Err(Problem::NotFound),
    }
}
