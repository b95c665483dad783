//! How long a request waits: for the store, and for news if it asks.

use std::time::Duration;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use pipeline::StoreError;

use crate::problem::Problem;

/// The store has deadlines of its own; this one holds when they do not. Only
/// the wait for the answer ends here, never the database's work.
const STORE_PATIENCE: Duration = Duration::from_millis(2700);

/// RFC 7240: how a client asks for a wait without changing the address.
const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Waits for the store, but not for ever.
pub(crate) async fn patiently<T>(
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, Problem> {
    match tokio::time::timeout(STORE_PATIENCE, work).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Problem::TemporarilyUnavailable),
    }
}

/// How long to wait for news, and what to say of it if it came as a preference.
pub(crate) struct Patience {
    pub(crate) span: Duration,
    pub(crate) applied: Option<HeaderValue>,
}

impl Patience {
    /// A parameter is an order and refused when it asks too much; a preference
    /// is a wish and cut down, as RFC 7240 has it.
    pub(crate) fn of(
        parameter: Option<u64>,
        headers: &HeaderMap,
        most: Duration,
    ) -> Result<Self, Problem> {
        if let Some(seconds) = parameter {
            let told = Self::told(seconds);
            let fits = told.span <= most;
            return fits.then_some(told).ok_or(Problem::InvalidParameter);
        }
        let preferred = preferred_wait(headers).map(|seconds| seconds.min(most.as_secs()));
        Ok(Self {
            span: Duration::from_secs(preferred.unwrap_or(0)),
            applied: preferred.and_then(|s| HeaderValue::try_from(format!("wait={s}")).ok()),
        })
    }

    /// An order to wait for so long.
    pub(crate) fn told(seconds: u64) -> Self {
        Self {
            span: Duration::from_secs(seconds),
            applied: None,
        }
    }
}

/// The first `wait=N` among the preferences; odd ones are ignored.
fn preferred_wait(headers: &HeaderMap) -> Option<u64> {
    headers
        .get_all(PREFER)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next()?.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
        .find_map(|(_, seconds)| seconds.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_wait_is_found_among_other_preferences() {
        let headers = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(PREFER, HeaderValue::from_static(text));
            headers
        };
        assert_eq!(preferred_wait(&headers("wait=25")), Some(25));
        assert_eq!(
            preferred_wait(&headers("respond-async, Wait = 7; x=1")),
            Some(7)
        );
        for none in ["", "wait", "wait=-1", "wait=soon", "await=3"] {
            assert_eq!(preferred_wait(&headers(none)), None, "{none:?}");
        }
    }
}
