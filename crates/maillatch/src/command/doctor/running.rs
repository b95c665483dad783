//! What the running server of this configuration says about itself.

use std::io::Write;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::Check;
use crate::config::Config;

/// A server answers at once, even if its database does not.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long the doctor waits for a broker or a database. A process that has just started may
/// still be connecting.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(500);

/// What was learned from a server.
enum Answer {
    /// Nothing listens there.
    NotRunning,
    /// It accepts connections and does not answer.
    Hangs,
    /// What `/readyz` says.
    Ready(Value),
}

/// Names the parts of the server that do not work, and the tasks that were restarted
/// lately or do nothing. A server that does not run is no fault: each role listens on its
/// own address. `patience` is how long its broker or its database may fail.
pub(super) async fn tasks(config: &Config, patience: Duration) -> Check {
    let (listen, ops) = (&config.server.listen, config.server.ops_listen());
    // The operators' listener says more.
    let ask_either = async || match ask(&ops).await {
        Answer::NotRunning => ask(listen).await,
        answered => answered,
    };
    match patiently(patience, ask_either, Answer::report).await {
        Answer::NotRunning => {
            let next = "if it should run here, start it with `maillatch up` or its role";
            Check::ok("server", format!("none answers on {listen}; {next}"))
        }
        Answer::Hangs => Check::failed(
            "server",
            format!(
                "a process listens on {listen} or {ops} and does not answer; if it is this server, \
                 restart it, and read its log"
            ),
        ),
        Answer::Ready(ready) => report(listen, &ready),
    }
}

impl Answer {
    fn report(&self) -> Option<&Value> {
        match self {
            Self::Ready(ready) => Some(ready),
            Self::NotRunning | Self::Hangs => None,
        }
    }
}

/// Asks again while nothing but the broker or the database of the server fails, until the
/// patience is over. The last report counts, also if the server is gone afterwards.
pub(super) async fn patiently<T>(
    patience: Duration,
    ask: impl AsyncFn() -> T,
    report: impl Fn(&T) -> Option<&Value>,
) -> T {
    let deadline = Instant::now() + patience;
    let mut answer = ask().await;
    let failing = report(&answer).map(failing_connections).unwrap_or_default();
    if !failing.is_empty() && Instant::now() < deadline {
        // Progress only: the report says the result.
        let _ = writeln!(
            std::io::stderr().lock(),
            "The server says that its {} does not work; asking again for up to {} s …",
            failing.join(" and its "),
            patience.as_secs()
        );
    }
    while Instant::now() < deadline
        && report(&answer).is_some_and(|ready| !failing_connections(ready).is_empty())
    {
        sleep(PAUSE).await;
        let next = ask().await;
        if report(&next).is_none() {
            break;
        }
        answer = next;
    }
    answer
}

/// The parts that fail, if all of them depend on another server, which may come back.
fn failing_connections(ready: &Value) -> Vec<&str> {
    let failing: Vec<&str> = failing(ready).map(|(part, _)| part).collect();
    let may_recover = failing
        .iter()
        .all(|part| matches!(*part, "database" | "queue"));
    if may_recover { failing } else { Vec::new() }
}

/// What the answer of `/readyz` means.
fn report(listen: &str, ready: &Value) -> Check {
    let failing = failing_parts(ready);
    if failing.is_empty() {
        return Check::ok("server", format!("answers on {listen}; every task runs"));
    }
    Check::failed("server", failing.join("; "))
}

/// The parts that fail, each with what to do next.
pub(super) fn failing_parts(ready: &Value) -> Vec<String> {
    failing(ready)
        .map(|(part, state)| format!("{part}: {state} ({})", next_step(part)))
        .collect()
}

/// The parts that fail, and what `/readyz` says about each.
fn failing(ready: &Value) -> impl Iterator<Item = (&str, &str)> {
    let checks = ready.get("checks").and_then(Value::as_object);
    checks
        .into_iter()
        .flatten()
        .filter(|(_, state)| *state != "ok")
        .map(|(part, state)| (part.as_str(), state.as_str().unwrap_or("?")))
}

fn next_step(part: &str) -> &'static str {
    match part {
        "database" => "check that the database runs and that its disk is not full",
        "queue" => "check that the broker runs, and queue.url; mail is still processed",
        "tasks" => {
            "read the log of the server for the task, then restart it; if the task fails again, \
             report it with that log"
        }
        "process" => "it stops now; wait, and start it again if that was not intended",
        _ => "read the log of the server",
    }
}

async fn ask(address: &str) -> Answer {
    // A proxy of the environment would answer in the place of this machine.
    let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT);
    let Ok(client) = client.build() else {
        return Answer::NotRunning;
    };
    let answer = client.get(format!("http://{address}/readyz")).send().await;
    let answer = match answer {
        Ok(answer) => answer.json().await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(ready) => Answer::Ready(ready),
        Err(error) if error.is_timeout() => Answer::Hangs,
        // Another program, or none.
        Err(_) => Answer::NotRunning,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Health;
    use super::*;

    #[test]
    fn doctor_waits_for_brokers_and_databases_and_for_nothing_else() {
        let failing = |parts: &[&str]| {
            let all = ["database", "queue", "tasks", "process"];
            let states = all.map(|part| {
                let state = if parts.contains(&part) {
                    "failing"
                } else {
                    "ok"
                };
                (part.to_owned(), Value::from(state))
            });
            let checks: serde_json::Map<String, Value> = states.into_iter().collect();
            failing_connections(&json!({ "checks": checks })).len()
        };
        assert_eq!(failing(&[]), 0);
        assert_eq!(failing(&["queue"]), 1);
        assert_eq!(failing(&["database", "queue"]), 2);
        assert_eq!(failing(&["queue", "tasks"]), 0);
        assert_eq!(failing(&["process"]), 0);
    }

    /// The server dies while the doctor waits: its last report still fails the check.
    #[tokio::test]
    async fn last_report_counts_if_the_server_is_gone_afterwards() {
        let asked = std::cell::Cell::new(0);
        let ask = async || {
            asked.set(asked.get() + 1);
            let report = json!({ "checks": { "database": "failing" } });
            (asked.get() == 1).then_some(report)
        };
        let answer = patiently(PATIENCE, ask, Option::as_ref).await;
        assert_eq!(asked.get(), 2);
        assert!(answer.is_some());
    }

    #[test]
    fn task_that_was_restarted_or_does_nothing_fails_and_is_named() {
        let ready =
            |tasks| json!({ "ready": true, "checks": { "database": "ok", "tasks": tasks } });
        assert_eq!(report("here", &ready("ok")).health, Health::Ok);
        for tasks in [
            "janitor was restarted 3 times",
            "janitor has finished nothing for 300 s",
        ] {
            let failed = report("here", &ready(tasks));
            assert_eq!(failed.health, Health::Failed);
            assert!(failed.detail.contains(tasks), "{}", failed.detail);
            assert!(failed.detail.contains("restart it"), "{}", failed.detail);
        }
    }
}
