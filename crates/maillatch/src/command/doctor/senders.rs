//! Whether senders reach their providers, and sends that wait for the operator.

use std::sync::Arc;

use pipeline::{Clock, SendCount, SendState, SystemClock};
use send::Reach;
use store::Store;

use super::Check;
use crate::config::Config;
use crate::wire::senders as build;

/// Reaches the provider of each sender. Nothing is sent.
pub(super) async fn senders(config: &Config) -> Check {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let senders = match build(config, &clock) {
        Ok(senders) => senders,
        Err(error) => return Check::of("senders", Err(error)),
    };
    let (mut names, mut failures) = (Vec::new(), Vec::new());
    for (name, place, reach) in senders.reach().await {
        match reach {
            Reach::Reached => names.push(name.to_string()),
            Reach::NotReached => failures.push(format!(
                "{name}: {place} cannot be reached; allow this machine to connect there, or \
                 correct senders.{name}"
            )),
            Reach::LoginRefused => failures.push(format!(
                "{name}: {place} refuses the login; correct username, password and tls of \
                 senders.{name}"
            )),
        }
    }
    match (failures.is_empty(), names.is_empty()) {
        (false, _) => Check::failed("senders", failures.join("; ")),
        (true, true) => Check::ok("senders", "none"),
        (true, false) => Check::ok("senders", format!("reached: {}", names.join(", "))),
    }
}

/// Sends and guards that only the operator can bring on.
pub(super) async fn sends(store: &Store) -> Vec<Check> {
    let counts = store.outbox.count_sends().await;
    counts.map_or_else(|_| Vec::new(), |counts| vec![waiting(&counts)])
}

fn waiting(counts: &[SendCount]) -> Check {
    let of = |state| counts.iter().find(|count| count.state == state);
    let mut waiting = Vec::new();
    for (state, next) in [
        (
            SendState::Uncertain,
            "see them with `maillatch sends list`, look at the provider, and settle them",
        ),
        (
            SendState::Held,
            "see them with `maillatch sends list --state held`, and approve or refuse them",
        ),
    ] {
        if let Some(found) = of(state) {
            let (count, oldest) = (found.count, found.oldest.as_secs());
            let state = state.as_str();
            waiting.push(format!(
                "{count} {state}, the oldest for {oldest} s; {next}"
            ));
        }
    }
    if waiting.is_empty() {
        Check::ok("sends", "none is uncertain or held")
    } else {
        Check::warning("sends", waiting.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Health;
    use super::*;

    #[test]
    fn only_uncertain_and_held_sends_wait_for_the_operator() {
        let count = |state| SendCount {
            state,
            count: 3,
            oldest: Duration::from_mins(2),
        };
        let quiet = waiting(&[count(SendState::Ready), count(SendState::Dispatched)]);
        assert_eq!(quiet.health, Health::Ok);
        for state in [SendState::Uncertain, SendState::Held] {
            let check = waiting(&[count(state)]);
            assert_eq!(check.health, Health::Warning);
            let expected = format!("3 {}, the oldest for 120 s", state.as_str());
            assert!(check.detail.starts_with(&expected), "{}", check.detail);
        }
    }
}
