//! Random waits, so that many pollers do not act at the same moment.

use std::time::Duration;

/// A random duration between half and the whole of `span`.
pub(crate) fn jittered(span: Duration) -> Duration {
    span.mul_f64(0.5 + 0.5 * rand::random::<f64>())
}
