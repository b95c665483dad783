//! Who asks: one bearer token, in one header, and nowhere else.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use pipeline::{ConsumerId, Permission, Scope};

use crate::access::access_of;
use crate::limits::{Paid, Purse};
use crate::patience::patiently;
use crate::problem::Problem;
use crate::routes::Feed;

/// An authenticated caller.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of its key, which its consumes carry.
    pub(crate) consumer: ConsumerId,
    /// What exists for it.
    pub(crate) scope: Scope,
    /// What it may do.
    pub(crate) permissions: Arc<[Permission]>,
    /// The id of its key, if that is one of the database's and can be revoked.
    pub(crate) minted: Option<Arc<str>>,
}

impl Caller {
    /// Refuses a caller whose key has been revoked or has expired since its
    /// request began. Whoever has waited asks this before it says anything.
    pub(crate) async fn still_stands(&self, feed: &Feed) -> Result<(), Problem> {
        let stands = patiently(feed.deps.keys.stands(self)).await?;
        stands.then_some(()).ok_or(Problem::Unauthenticated)
    }
}

/// Having a `Caller` as an argument is what makes a route need a key.
impl FromRequest for Caller {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let feed = feed_of(&request)?;
            match authenticate(&request, feed).await {
                Ok(caller) => admit(&request, feed, caller),
                Err(Problem::Unauthenticated) => Err(refuse(&request, feed)),
                Err(problem) => Err(problem),
            }
        })
    }
}

fn feed_of(request: &HttpRequest) -> Result<&Feed, Problem> {
    let feed = request.app_data::<web::Data<Feed>>();
    feed.map(|feed| feed.as_ref()).ok_or(Problem::Internal)
}

/// Lets a caller in who may do this, has not done it too often and asks it in known
/// words. Whoever may not pays as well: asking costs the same.
fn admit(request: &HttpRequest, feed: &Feed, caller: Caller) -> Result<Caller, Problem> {
    let access = access_of(request);
    let tally = feed.limits.pay(access.purse(), &caller.consumer);
    let is_consume = access.purse() == Purse::Consumes;
    request.extensions_mut().insert(Paid {
        tally,
        consumer: is_consume.then(|| caller.consumer.clone()),
    });
    if !tally.is_paid() {
        return Err(Problem::RateLimited(tally.retry_after()));
    }
    if !caller.permissions.contains(&access.permission) {
        return Err(Problem::Forbidden(access.permission));
    }
    if !access.takes(request.query_string()) {
        return Err(Problem::InvalidParameter);
    }
    Ok(caller)
}

/// Turns somebody away who has no good key. Good keys from the same address are
/// not affected: an attacker behind a shared one locks nobody out.
fn refuse(request: &HttpRequest, feed: &Feed) -> Problem {
    let tally = feed.limits.stranger(request);
    let consumer = None;
    request.extensions_mut().insert(Paid { tally, consumer });
    if tally.is_paid() {
        Problem::Unauthenticated
    } else {
        Problem::RateLimited(tally.retry_after())
    }
}

async fn authenticate(request: &HttpRequest, feed: &Feed) -> Result<Caller, Problem> {
    if holds_a_token(request.query_string()) {
        return Err(Problem::Unauthenticated);
    }
    let token = bearer(request.headers()).ok_or(Problem::Unauthenticated)?;
    let caller = patiently(feed.deps.keys.caller(token)).await?;
    caller.ok_or(Problem::Unauthenticated)
}

/// The token of the one `Authorization` header; two headers are two answers to
/// "who asks", and we do not choose between them.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION);
    let only = all.next().filter(|_| all.next().is_none())?;
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// A query string ends up in access logs and browser histories. A token found
/// there is refused even beside a good header, so that nobody gets used to it.
fn holds_a_token(query: &str) -> bool {
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
    fn only_one_bearer_header_is_read() {
        assert_eq!(bearer(&headers(&["Bearer mlk_x"])), Some("mlk_x"));
        assert_eq!(bearer(&headers(&["bearer mlk_x"])), Some("mlk_x"));
        for odd in [
            &[][..],
            &["Bearer"],
            &["Basic mlk_x"],
            &["mlk_x"],
            &["Bearer mlk_x", "Bearer mlk_x"],
            &["Bearer mlk_x", "Basic y"],
        ] {
            assert_eq!(bearer(&headers(odd)), None, "{odd:?}");
        }
    }

    #[test]
    fn a_token_in_the_query_is_noticed_however_it_is_spelt() {
        for query in [
            "access_token=x",
            "Token=x",
            "after=mlk_abc",
            "q=%6dlk_abc",
            "a=1&key=2",
        ] {
            assert!(holds_a_token(query), "{query}");
        }
        for query in ["", "after=AAA&limit=5&wait=1"] {
            assert!(!holds_a_token(query), "{query}");
        }
    }
}
