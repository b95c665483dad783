//! Authentication: one bearer token in the `Authorization` header, nowhere else.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};

use super::access::access_of;
use super::problem::Problem;
use super::timeout::ask_store;
use crate::auth::Caller;
use crate::state::{BudgetKind, BudgetState, Charge, Feed};

impl Caller {
    /// Refuses a caller whose key was revoked or has expired since its request
    /// began. A request that has waited checks this before it answers.
    pub(crate) async fn require_valid_key(&self, feed: &Feed) -> Result<(), Problem> {
        let is_valid = ask_store(feed.deps.keys.is_valid(self)).await?;
        is_valid.then_some(()).ok_or(Problem::Unauthenticated)
    }
}

/// A handler with a `Caller` argument needs a valid key.
impl FromRequest for Caller {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let feed = feed_of(&request)?;
            let caller = known(&request, feed).await?;
            admit(&request, feed, caller)
        })
    }
}

/// A handler with this argument needs a valid key, whatever the key allows. It is charged
/// to no budget of the key.
pub(crate) struct ValidKey;

impl FromRequest for ValidKey {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let feed = feed_of(&request)?;
            known(&request, feed).await?;
            Ok(Self)
        })
    }
}

/// The caller of a request with a valid key. A refused key is charged to its address.
async fn known(request: &HttpRequest, feed: &Feed) -> Result<Caller, Problem> {
    match authenticate(request, feed).await {
        Err(Problem::Unauthenticated) => Err(refuse(request, feed)),
        other => other,
    }
}

fn feed_of(request: &HttpRequest) -> Result<&Feed, Problem> {
    let feed = request.app_data::<web::Data<Feed>>();
    feed.map(|feed| feed.as_ref()).ok_or(Problem::Internal)
}

/// Admits a caller that has the permission, is within its rate limit and sends only
/// known parameters. A request that is refused is charged as well.
fn admit(request: &HttpRequest, feed: &Feed, caller: Caller) -> Result<Caller, Problem> {
    let access = access_of(request);
    let state = feed.limits.charge(access.budget(), &caller.consumer);
    let is_consume = access.budget() == BudgetKind::Consumes;
    request.extensions_mut().insert(Charge {
        state,
        consumer: is_consume.then(|| caller.consumer.clone()),
    });
    if !state.is_within() {
        return Err(Problem::RateLimited(state.retry_after()));
    }
    if !access.is_open_to(&caller.permissions) {
        return Err(Problem::Forbidden(access.permission));
    }
    if !access.accepts_query(request.query_string()) {
        return Err(Problem::InvalidParameter);
    }
    Ok(caller)
}

/// Refuses a request without a valid key. Valid keys from the same address are not
/// affected, so an attacker behind a shared address locks nobody out.
fn refuse(request: &HttpRequest, feed: &Feed) -> Problem {
    let charged = request
        .extensions()
        .get::<Charge>()
        .map(|charge| charge.state);
    let state = charged.unwrap_or_else(|| charge_stranger(request, feed));
    if state.is_within() {
        Problem::Unauthenticated
    } else {
        Problem::RateLimited(state.retry_after())
    }
}

/// Charges a request whose key is not known to the limit of its address.
fn charge_stranger(request: &HttpRequest, feed: &Feed) -> BudgetState {
    let state = feed.limits.charge_unauthenticated(request);
    let consumer = None;
    request.extensions_mut().insert(Charge { state, consumer });
    state
}

async fn authenticate(request: &HttpRequest, feed: &Feed) -> Result<Caller, Problem> {
    if contains_token(request.query_string()) {
        return Err(Problem::Unauthenticated);
    }
    let token = bearer(request.headers()).ok_or(Problem::Unauthenticated)?;
    let keys = &feed.deps.keys;
    if !keys.has_seen(token) {
        let state = charge_stranger(request, feed);
        // If the client's IP address is over its rate limit, the token is looked up only
        // when a valid key with the token's id exists.
        if !state.is_within() && !ask_store(keys.is_listed(token)).await? {
            return Err(Problem::RateLimited(state.retry_after()));
        }
    }
    let caller = ask_store(keys.caller(token)).await?;
    caller.ok_or(Problem::Unauthenticated)
}

/// The token of the only `Authorization` header. Two headers are refused, because it
/// is unclear which one counts.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION);
    let only = all.next().filter(|_| all.next().is_none())?;
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Query strings end up in access logs and browser histories, so a token there is
/// refused even if the header is valid.
fn contains_token(query: &str) -> bool {
    type Pairs = Vec<(String, String)>;
    web::Query::<Pairs>::from_query(query).is_ok_and(|pairs| {
        pairs.iter().any(|(name, value)| {
            let name = name.to_ascii_lowercase();
            value.starts_with("mlk_")
                || matches!(
                    name.as_str(),
                    "access_token" | "token" | "key" | "api_key" | "authorization"
                )
        })
    })
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values
            .iter()
            .map(|&value| {
                (
                    HeaderName::from_static("authorization"),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn exactly_one_bearer_header_is_accepted() {
        assert_eq!(bearer(&headers(&["Bearer mlk_x"])), Some("mlk_x"));
        assert_eq!(bearer(&headers(&["bearer mlk_x"])), Some("mlk_x"));
        for refused in [
            &[][..],
            &["Bearer"],
            &["Basic mlk_x"],
            &["mlk_x"],
            &["Bearer mlk_x", "Bearer mlk_x"],
            &["Bearer mlk_x", "Basic y"],
        ] {
            assert_eq!(bearer(&headers(refused)), None, "{refused:?}");
        }
    }

    #[test]
    fn token_in_the_query_is_detected() {
        for query in [
            "access_token=x",
            "Token=x",
            "after=mlk_abc",
            "q=%6dlk_abc",
            "a=1&key=2",
        ] {
            assert!(contains_token(query), "{query}");
        }
        for query in ["", "after=AAA&limit=5&wait=1"] {
            assert!(!contains_token(query), "{query}");
        }
    }
}
