//! `POST /v1/guards/{guard}/confirm`, `release` and `extend`: what the holder reports.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{ClaimToken, GuardReported, Receipt};
use serde::Deserialize;
use serde_json::json;

use super::claim::MAX_LEASE;
use super::guard_body::GuardBody;
use super::guard_of;
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::problem::{Problem, UsedIntent};
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The body of a confirm.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Confirmation)]
pub(crate) struct ConfirmRequestBody {
    /// The token of the claim.
    #[schema(required = true)]
    token: String,
    /// What the provider returned, such as the id of a mail or a ticket. All who claim the
    /// same intent later get it.
    result: Option<String>,
}

/// The body of a release.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Release)]
pub(crate) struct ReleaseRequestBody {
    /// The token of the claim.
    #[schema(required = true)]
    token: String,
    /// `true`: the caller knows that the action was not done. After a timeout it does not
    /// know that.
    #[schema(required = true)]
    not_done: bool,
}

/// The body of an extension.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Extension)]
pub(crate) struct ExtendRequestBody {
    /// The token of the claim.
    #[schema(required = true)]
    token: String,
    /// For how many seconds from now the caller may act.
    #[schema(required = true)]
    lease: u64,
}

fn token_field() -> Field {
    let schema = json!({ "minLength": 36, "maxLength": 36, "pattern": "^clm_[0-9a-f]{32}$" });
    Field::new("token", "the token of the claim, `clm_…`", schema)
}

impl RequestBody for ConfirmRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let rule = "1 to 128 letters, digits and `. _ : / + = @ ~ -`";
        let schema =
            json!({ "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9._:/+=@~-]+$" });
        vec![token_field(), Field::new("result", rule, schema)]
    }
}

impl RequestBody for ReleaseRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let rule = "true: you know that the action was not done";
        vec![
            token_field(),
            Field::new("not_done", rule, json!({ "enum": [true] })),
        ]
    }
}

impl RequestBody for ExtendRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        vec![
            token_field(),
            Field::number("lease", 1..=MAX_LEASE, "seconds"),
        ]
    }
}

/// Reports that the action is done. It is accepted at any time, also after the lease and
/// under a token that was replaced: the caller that acted reports it.
///
/// Returns: 200 with the guard, whose first result stays; 400 for an invalid body; 401
/// without a valid key; 403 without the scope; 404 for an unknown guard, or a token that
/// it never had; 503 if the store is unavailable: repeat the report.
pub(crate) async fn confirm(
    request: HttpRequest,
    path: web::Path<String>,
    _caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let body: ConfirmRequestBody = read_body(&request, payload, &feed).await?;
    let fields = Fields::of::<ConfirmRequestBody>(&feed);
    let guard = guard_of(&path)?;
    let token = token_of(&fields, &body.token)?;
    let receipt: Option<Receipt> = match body.result.as_deref() {
        Some(result) => Some(
            result
                .parse()
                .map_err(|_invalid| fields.invalid("result"))?,
        ),
        None => None,
    };
    let reported = feed.deps.guards.confirm_guard(guard, token, receipt);
    match ask_store(reported).await? {
        GuardReported::AlreadyDone(view) => Ok(reply::json(StatusCode::OK, &GuardBody::new(view))),
        other => answer(other),
    }
}

/// Reports that the action was not done, before the deadline.
///
/// Returns: 200 with the guard, which may be claimed again; 400 for an invalid body; 401
/// without a valid key; 403 without the scope; 404 for an unknown guard, or a token that
/// it never had; 409 `lease-over` after the deadline; 409 `stale-token` if the guard was
/// claimed again; 409 `already-done` if it was confirmed; 503 if the store is unavailable.
pub(crate) async fn release(
    request: HttpRequest,
    path: web::Path<String>,
    _caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let body: ReleaseRequestBody = read_body(&request, payload, &feed).await?;
    let fields = Fields::of::<ReleaseRequestBody>(&feed);
    let guard = guard_of(&path)?;
    let token = token_of(&fields, &body.token)?;
    if !body.not_done {
        return Err(fields.invalid("not_done"));
    }
    answer(ask_store(feed.deps.guards.release_guard(guard, token)).await?)
}

/// Moves the deadline: from now on the caller may act for `lease` seconds.
///
/// Returns: as for [`release`], and 200 with the new deadline.
pub(crate) async fn extend(
    request: HttpRequest,
    path: web::Path<String>,
    _caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let body: ExtendRequestBody = read_body(&request, payload, &feed).await?;
    let fields = Fields::of::<ExtendRequestBody>(&feed);
    let guard = guard_of(&path)?;
    let token = token_of(&fields, &body.token)?;
    fields.check("lease", body.lease)?;
    let lease = Duration::from_secs(body.lease);
    answer(ask_store(feed.deps.guards.extend_guard(guard, token, lease)).await?)
}

fn token_of(fields: &Fields, text: &str) -> Result<ClaimToken, Problem> {
    text.parse().map_err(|_invalid| fields.invalid("token"))
}

fn answer(reported: GuardReported) -> Result<HttpResponse, Problem> {
    match reported {
        GuardReported::Done(view, _) => Ok(reply::json(StatusCode::OK, &GuardBody::new(view))),
        GuardReported::AlreadyDone(view) => Err(Problem::AlreadyDone(UsedIntent::from(&view))),
        GuardReported::LeaseOver(view) => Err(Problem::LeaseOver(UsedIntent::from(&view))),
        GuardReported::StaleToken(view) => Err(Problem::StaleToken(UsedIntent::from(&view))),
        GuardReported::Unknown => Err(Problem::NotFound),
    }
}
