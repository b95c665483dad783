//! What the running server of this configuration says about itself.

use std::time::Duration;

use serde_json::Value;

use super::Check;
use crate::config::Config;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Names the tasks of the server that were restarted lately. A server that does not run
/// is no fault: each role listens on its own address.
pub(super) async fn tasks(config: &Config) -> Check {
    let listen = &config.server.listen;
    let Some(ready) = ready(listen).await else {
        return Check::ok("server", format!("none answers on {listen}"));
    };
    match ready.get("checks").and_then(|checks| checks.get("tasks")) {
        Some(Value::String(tasks)) if tasks != "ok" => Check::warning("server", tasks.as_str()),
        _ => Check::ok("server", format!("answers on {listen}; every task runs")),
    }
}

async fn ready(listen: &str) -> Option<Value> {
    let client = reqwest::Client::builder().timeout(TIMEOUT).build().ok()?;
    let answer = client.get(format!("http://{listen}/readyz")).send().await;
    serde_json::from_str(&answer.ok()?.text().await.ok()?).ok()
}
