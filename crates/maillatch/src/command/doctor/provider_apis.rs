//! Whether the APIs of providers can be reached from this machine.

use std::time::Duration;

use pipeline::{Clock, SystemClock};
use providers::{Source, Sources};

use super::{Check, source_health};
use crate::config::Config;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks each polled source for its list, and sends each other API one request without a
/// key. Any answer shows that it is reached.
pub(super) async fn provider_apis(config: &Config) -> Check {
    let Ok(sources) = Sources::build(config.source.clone()) else {
        return Check::warning("apis", "not checked, because a source is not valid");
    };
    let (mut reached, mut failures) = (0, Vec::new());
    for source in sources.iter() {
        match reach(config, &sources, source).await {
            Some(Ok(())) => reached += 1,
            Some(Err(why)) => failures.push(format!("{}: {why}", source.name())),
            None => {}
        }
    }
    match (failures.is_empty(), reached) {
        (false, _) => Check::failed("apis", failures.join("; ")),
        (true, 0) => Check::ok("apis", "no source uses one"),
        (true, _) => Check::ok("apis", format!("reached for {reached} sources")),
    }
}

/// Reaches the API of a source; `None` if it uses none.
async fn reach(config: &Config, sources: &Sources, source: &Source) -> Option<Result<(), String>> {
    let is_polled = config.source.get(source.name().as_str())?.poll.is_some();
    if is_polled {
        let polled = source_health::polled_sources(config, sources).ok()?;
        let listed = polled.try_list(source.name(), SystemClock.now(), TIMEOUT);
        return Some(match listed.await? {
            Ok(_) => Ok(()),
            Err(reason) => Err(format!(
                "cannot be polled ({reason}); check its address and its key or password, and that \
                 this machine may connect there; then: maillatch source test {}",
                source.name()
            )),
        });
    }
    let url = &source.api()?.url;
    let client = reqwest::Client::builder().timeout(TIMEOUT).build().ok()?;
    let answer = client.get(url).send().await;
    Some(answer.map(drop).map_err(|error| {
        let kind = if error.is_timeout() {
            "does not answer"
        } else {
            "cannot be reached"
        };
        format!("{url} {kind}; allow this machine to connect there, or correct api_url")
    }))
}
