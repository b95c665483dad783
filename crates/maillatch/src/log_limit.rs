//! Bounds the log during an outage: at most a few warnings and errors in a second.
//! What is dropped is counted and reported in one line.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// Warnings and errors in one second. Under load the same failure would otherwise
/// write thousands of lines.
const MOST_IN_A_SECOND: u32 = 8;
/// How often dropped lines are reported.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// How many lines were dropped and not reported yet.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// A log filter that lets a bounded number of warnings and errors pass.
#[derive(Default)]
pub(crate) struct LogLimit(Mutex<Option<Second>>);

/// The current second and the lines that passed in it.
struct Second {
    began: Instant,
    lines: u32,
}

impl LogLimit {
    fn may_pass(&self) -> bool {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let second = match current.take() {
            Some(second) if now - second.began < Duration::from_secs(1) => second,
            _ => Second {
                began: now,
                lines: 0,
            },
        };
        let may_pass = second.lines < MOST_IN_A_SECOND;
        *current = Some(Second {
            lines: second.lines.saturating_add(1),
            ..second
        });
        may_pass
    }
}

impl<S: Subscriber> Filter<S> for LogLimit {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let is_failure = *event.metadata().level() <= Level::WARN;
        let passes = !is_failure || self.may_pass();
        if !passes {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        passes
    }
}

/// Reports dropped lines until `stop`.
pub(crate) async fn report_dropped(stop: CancellationToken) {
    while !stop.is_cancelled() {
        let _ = tokio::time::timeout(REPORT_EVERY, stop.cancelled()).await;
        let lines = DROPPED.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::info!(
                lines,
                "log lines were dropped: too many warnings in a second"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use tracing_subscriber::layer::{Layer, SubscriberExt};

    use super::*;

    /// Collects what is logged.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn thousand_warnings_write_at_most_8_lines_a_second() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .with_filter(LogLimit::default());
        let began = Instant::now();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for n in 0..1_000 {
                tracing::warn!(n, "the database is unavailable");
            }
            tracing::info!("ready");
        });
        let seconds = u32::try_from(began.elapsed().as_secs()).unwrap() + 1;
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let warnings = text.lines().filter(|line| line.contains("WARN")).count();
        assert!(
            warnings <= (MOST_IN_A_SECOND * seconds) as usize,
            "{warnings}"
        );
        assert!(warnings > 0, "{text}");
        assert!(text.contains("ready"), "other lines pass");
    }
}
