//! Waiting for a condition, with an end. No test sleeps and hopes.

use std::time::Duration;

use pipeline::InboxWatch;
use tokio::time::{Instant, sleep, timeout};

/// Far longer than anything takes on a busy machine; only a failing test waits
/// this long.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Longer than any pause between two things that happen by themselves.
const QUIET: Duration = Duration::from_millis(700);

/// The future's output, or a failed test that says what did not happen.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(output) = timeout(PATIENCE, future).await else {
        panic!("waited {PATIENCE:?} in vain: {what}");
    };
    output
}

/// Waits until there was no news for a while: what comes then was not on its way.
pub async fn until_quiet(arrival: &mut dyn InboxWatch) {
    while timeout(QUIET, arrival.changed()).await.is_ok() {}
}

/// Asks again and again until the answer is `Some`, or fails the test.
pub async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(answer) = ask().await {
            return answer;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("waited {PATIENCE:?} in vain: {what}");
}
