//! What the running server of this configuration says about itself.

use std::time::Duration;

use serde_json::Value;

use super::Check;
use crate::config::Config;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Names the parts of the server that do not work and the tasks that were restarted
/// lately. A server that does not run is no fault: each role listens on its own address.
pub(super) async fn tasks(config: &Config) -> Check {
    let listen = &config.server.listen;
    let Some(ready) = ready(listen).await else {
        let next = "if it should run here, start it with `maillatch up` or its role";
        return Check::ok("server", format!("none answers on {listen}; {next}"));
    };
    report(listen, &ready)
}

/// What the answer of `/readyz` means.
fn report(listen: &str, ready: &Value) -> Check {
    let checks = ready.get("checks").and_then(Value::as_object);
    let failing: Vec<String> = checks
        .into_iter()
        .flatten()
        .filter(|(_, state)| *state != "ok")
        .map(|(part, state)| format!("{part}: {}", state.as_str().unwrap_or("?")))
        .collect();
    if failing.is_empty() {
        return Check::ok("server", format!("answers on {listen}; every task runs"));
    }
    let next = "read its log; a task that fails again and again needs a new version or a restart";
    Check::failed("server", format!("{}; {next}", failing.join("; ")))
}

async fn ready(listen: &str) -> Option<Value> {
    let client = reqwest::Client::builder().timeout(TIMEOUT).build().ok()?;
    let answer = client.get(format!("http://{listen}/readyz")).send().await;
    serde_json::from_str(&answer.ok()?.text().await.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Health;
    use super::*;

    #[test]
    fn task_that_was_restarted_fails_and_is_named() {
        let ready =
            |tasks| json!({ "ready": true, "checks": { "database": "ok", "tasks": tasks } });
        assert_eq!(report("here", &ready("ok")).health, Health::Ok);
        let failed = report("here", &ready("janitor was restarted 3 times"));
        assert_eq!(failed.health, Health::Failed);
        assert!(failed.detail.contains("janitor"), "{}", failed.detail);
    }
}
