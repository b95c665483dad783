//! A time limit that does not throw away an answer that is already there.

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

/// How much longer than its limit a call may take.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

/// The output of a future, if it is there within the limit. When the limit is over, the
/// future gets a last moment: a process that was frozen wakes up with its limit over and
/// with the answer in its socket, and that answer may be the only proof.
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    match timeout(limit, &mut future).await {
        Ok(output) => Some(output),
        Err(_elapsed) => timeout(GRACE, future).await.ok(),
    }
}
