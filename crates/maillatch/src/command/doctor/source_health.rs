//! The state of the sources: which are silent, and which cannot be polled.

use std::time::Duration;

use anyhow::Result;
use pipeline::SourceHealth;
use poll::PolledSources;
use providers::Sources;
use store::Store;

use super::Check;
use crate::config::Config;
use crate::wire::poll_settings;

/// Checks that every source with a `poll` table can be polled.
pub(super) fn polled_sources(config: &Config, sources: &Sources) -> Result<PolledSources> {
    let settings = poll_settings(config)?;
    Ok(PolledSources::build(&config.source, sources, &settings)?)
}

/// One line about silent sources and one about polling.
pub(super) async fn source_health(config: &Config, store: &Store) -> Vec<Check> {
    let Ok(all) = store.silence.source_health().await else {
        return Vec::new();
    };
    let configured = |one: &&SourceHealth| config.source.contains_key(one.source.as_str());
    let sources: Vec<&SourceHealth> = all.iter().filter(configured).collect();
    vec![silence(config, &sources), polling(config, &sources)]
}

fn silence(config: &Config, sources: &[&SourceHealth]) -> Check {
    let floor = config.poll.silence.0;
    let silent: Vec<String> = sources
        .iter()
        .filter(|one| one.is_silent(floor))
        .map(|one| {
            let quiet = one.since_last_post.unwrap_or_default().as_secs();
            let habit = one.usual_gap.as_secs();
            format!(
                "{} has posted nothing for {quiet} s, usually at most {habit} s: check its webhook",
                one.source
            )
        })
        .collect();
    if silent.is_empty() {
        Check::ok("webhooks", "no source is silent for unusually long")
    } else {
        Check::warning("webhooks", silent.join("; "))
    }
}

fn polling(config: &Config, sources: &[&SourceHealth]) -> Check {
    let polled = config
        .source
        .values()
        .filter(|source| source.poll.is_some());
    let polled = polled.count();
    let failing: Vec<String> = sources
        .iter()
        .filter_map(|one| Some((one, one.failure.as_ref()?)))
        .map(|(one, why)| match one.since_last_poll {
            Some(ago) => format!(
                "{}: {why}, last success {} s ago",
                one.source,
                ago.as_secs()
            ),
            None => format!("{}: {why}, never a success", one.source),
        })
        .collect();
    let late = late(config, sources);
    if !late.is_empty() {
        let next = "no poller runs; start one with `maillatch poll` or `maillatch up`";
        return Check::failed("polling", format!("{}; {next}", late.join("; ")));
    }
    if failing.is_empty() {
        Check::ok("polling", format!("{polled} sources are polled"))
    } else {
        let next = "try it with: maillatch source test NAME";
        Check::warning("polling", format!("{}; {next}", failing.join("; ")))
    }
}

/// The sources that were polled before and that no poller has asked for a long time.
fn late(config: &Config, sources: &[&SourceHealth]) -> Vec<String> {
    let is_late = |one: &&SourceHealth| {
        let settings = config.source.get(one.source.as_str());
        let Some(poll) = settings.and_then(|settings| settings.poll.as_ref()) else {
            return false;
        };
        let every = poll
            .every_seconds
            .map_or(config.poll.every.0, Duration::from_secs);
        let limit = every.saturating_mul(3).max(Duration::from_mins(2));
        one.failure.is_none() && one.since_last_poll.is_some_and(|ago| ago > limit)
    };
    let late = sources.iter().copied().filter(is_late);
    late.map(|one| {
        let ago = one.since_last_poll.unwrap_or_default().as_secs();
        format!("{} was last polled {ago} s ago", one.source)
    })
    .collect()
}
