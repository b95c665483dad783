//! Waits for a condition, with a timeout. No test sleeps for a fixed time and hopes.

use std::time::Duration;

use pipeline::InboxWatch;
use tokio::time::{Instant, sleep, timeout};

/// Far longer than anything takes on a busy machine. Only a failing test waits this long.
pub const TIMEOUT: Duration = Duration::from_mins(3);

/// Longer than any pause between two changes that belong together.
const QUIET: Duration = Duration::from_millis(700);

/// The output of the future. Fails the test with `what` after the timeout.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(output) = timeout(TIMEOUT, future).await else {
        panic!("waited {TIMEOUT:?} for: {what}");
    };
    output
}

/// Waits until the watch reports no change for a while. A change after that is a new one.
pub async fn until_quiet(arrival: &mut dyn InboxWatch) {
    while timeout(QUIET, arrival.changed()).await.is_ok() {}
}

/// Calls `ask` until it returns `Some`. Fails the test with `what` after the timeout.
pub async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + TIMEOUT;
    while Instant::now() < end {
        if let Some(answer) = ask().await {
            return answer;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("waited {TIMEOUT:?} for: {what}");
}
