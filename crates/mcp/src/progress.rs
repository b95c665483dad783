//! Progress of a wait, for clients that ask for it. It also keeps the connection alive.

use std::pin::pin;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::time::{Instant, interval_at};

/// How often progress is reported.
const EVERY: Duration = Duration::from_secs(5);

/// Does the work, and reports how many of the seconds are over.
pub(crate) async fn reported<T>(
    context: &RequestContext<RoleServer>,
    total: Duration,
    work: impl Future<Output = T>,
) -> T {
    let Some(token) = context.meta.get_progress_token() else {
        return work.await;
    };
    let began = Instant::now();
    let mut ticks = interval_at(began + EVERY, EVERY);
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = ticks.tick() => {
                let progress = began.elapsed().as_secs_f64();
                let report = ProgressNotificationParam::new(token.clone(), progress)
                    .with_total(total.as_secs_f64())
                    .with_message("no mail yet");
                // Whether the client reads it does not matter for the work.
                let _ = context.peer.notify_progress(report).await;
            }
        }
    }
}
