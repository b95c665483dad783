//! What the running server of this configuration says about itself.

use std::io::Write;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::Check;
use crate::config::Config;

/// A server answers at once, even if its database does not.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a broker or a database may stay away. A process that has just started still
/// connects to its broker.
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
/// own address.
pub(super) async fn tasks(config: &Config) -> Check {
    let (listen, ops) = (&config.server.listen, config.server.ops_listen());
    // The operators' listener says more.
    let ask_either = async || match ask(&ops).await {
        Answer::NotRunning => ask(listen).await,
        answered => answered,
    };
    match patiently(ask_either, Answer::report).await {
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

/// Asks again while nothing but the connection to a broker or a database fails, until
/// [`PATIENCE`] is over.
pub(super) async fn patiently<T>(
    ask: impl AsyncFn() -> T,
    report: impl Fn(&T) -> Option<&Value>,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    let mut was_said = false;
    loop {
        let answer = ask().await;
        let failing = report(&answer).map(failing_connections).unwrap_or_default();
        if failing.is_empty() || Instant::now() >= deadline {
            return answer;
        }
        if !was_said {
            was_said = true;
            let seconds = PATIENCE.as_secs();
            // Progress only: the report says the result.
            let _ = writeln!(
                std::io::stderr().lock(),
                "The server is not connected to its {}; asking again for {seconds} s …",
                failing.join(" and ")
            );
        }
        sleep(PAUSE).await;
    }
}

/// The parts that fail, if all of them depend on another server, which may come back.
fn failing_connections(ready: &Value) -> Vec<&str> {
    let checks = ready.get("checks").and_then(Value::as_object);
    let failing: Vec<&str> = checks
        .into_iter()
        .flatten()
        .filter(|(_, state)| *state != "ok")
        .map(|(part, _)| part.as_str())
        .collect();
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
    let checks = ready.get("checks").and_then(Value::as_object);
    checks
        .into_iter()
        .flatten()
        .filter(|(_, state)| *state != "ok")
        .map(|(part, state)| {
            let state = state.as_str().unwrap_or("?");
            format!("{part}: {state} ({})", next_step(part))
        })
        .collect()
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
    let Ok(client) = reqwest::Client::builder().timeout(TIMEOUT).build() else {
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
