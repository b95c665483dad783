//! How long a request waits: for the store, and for mail if the client asks for it.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use pipeline::StoreError;

use super::problem::Problem;

/// The store has timeouts of its own; this one applies when they fail. Only the wait
/// for the answer ends, never the work of the database.
const STORE_TIMEOUT: Duration = Duration::from_millis(2700);

/// RFC 7240: how a client asks for a wait without changing the URL.
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Asks the store, with a timeout.
pub(crate) async fn ask_store<T>(
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, Problem> {
    match tokio::time::timeout(STORE_TIMEOUT, work).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Problem::TemporarilyUnavailable),
    }
}

/// How long a request waits for mail, and the header that reports it.
pub(crate) struct WaitTime {
    pub(crate) timeout: Duration,
    applied: Option<HeaderValue>,
}

impl WaitTime {
    /// The wait of the parameter `wait`, or else of the `Prefer` header. A parameter
    /// over the limit is refused; a preference over it is reduced, as RFC 7240 says.
    pub(crate) fn requested(
        parameter: Option<u64>,
        headers: &HeaderMap,
        max: Duration,
    ) -> Result<Self, Problem> {
        if let Some(seconds) = parameter {
            let exact = Self::exactly(seconds);
            let fits = exact.timeout <= max;
            return fits.then_some(exact).ok_or(Problem::InvalidParameter);
        }
        let preferred = preferred_wait(headers).map(|seconds| seconds.min(max.as_secs()));
        Ok(Self {
            timeout: Duration::from_secs(preferred.unwrap_or(0)),
            applied: preferred.and_then(|s| HeaderValue::try_from(format!("wait={s}")).ok()),
        })
    }

    /// A wait of this many seconds.
    pub(crate) fn exactly(seconds: u64) -> Self {
        Self {
            timeout: Duration::from_secs(seconds),
            applied: None,
        }
    }

    /// Adds `Preference-Applied` to the response if the wait came from `Prefer`.
    pub(crate) fn report(self, mut response: HttpResponse) -> HttpResponse {
        if let Some(applied) = self.applied {
            response.headers_mut().insert(PREFERENCE_APPLIED, applied);
        }
        response
    }
}

/// The first valid `wait=N` among the preferences; invalid ones are ignored.
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
    fn wait_preference_is_found_among_others() {
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
