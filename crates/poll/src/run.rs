//! Runs all polled sources, each in its own task.

use std::sync::Arc;

use pipeline::SourceName;
use tokio::sync::{Mutex, Notify};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::deps::Deps;
use crate::polled_sources::{PolledSource, PolledSources};
use crate::source_loop::round::task_of;
use crate::source_loop::source_loop;
use crate::watch::waiting_inboxes::PollRequest;
use crate::watch::{silent_sources, waiting_inboxes};

/// Polls until `stop`. `posting` are the sources whose silence raises an alarm.
pub async fn run(
    deps: Arc<Deps>,
    polled: PolledSources,
    posting: Vec<SourceName>,
    stop: CancellationToken,
) {
    let tasks = TaskTracker::new();
    let mut requests = Vec::new();
    for source in polled.into_sources() {
        let awaited = Arc::new(Notify::new());
        requests.push(PollRequest {
            inboxes: source.inboxes.clone(),
            awaited: Arc::clone(&awaited),
        });
        let (deps, stop) = (Arc::clone(&deps), stop.clone());
        tasks.spawn(async move { run_source(&deps, source, &awaited, &stop).await });
    }
    if !requests.is_empty() {
        let (deps, stop) = (Arc::clone(&deps), stop.clone());
        tasks.spawn(async move {
            let start = || waiting_inboxes::watch(&deps, &requests, &stop);
            let name = waiting_inboxes::TASK;
            deps.tasks.keep_running(name, sleep, start).await;
        });
    }
    tasks.spawn(async move {
        let start = || silent_sources::watch(&deps, &posting, &stop);
        let name = silent_sources::TASK;
        deps.tasks.keep_running(name, sleep, start).await;
    });
    tasks.close();
    tasks.wait().await;
}

/// Polls one source. If that panics, it begins again; a client drops a connection that it
/// did not finish using.
async fn run_source(deps: &Deps, source: PolledSource, awaited: &Notify, stop: &CancellationToken) {
    let task = task_of(&source.source);
    let source = Mutex::new(source);
    let start = || async {
        let mut source = source.lock().await;
        source_loop(deps, &mut source, awaited, stop).await;
    };
    deps.tasks.keep_running(&task, sleep, start).await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::inbox_filter::InboxFilter;
    use crate::scripted_source::{ScriptedSource, TestPoller, page, source};

    #[tokio::test]
    async fn source_that_panics_twice_is_restarted_named_and_polled() {
        let test = TestPoller::new().await;
        let mut lists = 0;
        let client = ScriptedSource::listing(move |_| {
            lists += 1;
            assert!(lists > 2, "a test asked for it");
            Ok(page(&["one"], "end", false))
        });
        let polled = PolledSource {
            source: source(),
            client: Box::new(client),
            every: Duration::from_millis(1),
            inboxes: InboxFilter::default(),
            is_poll_only: true,
        };
        let (awaited, stop) = (Notify::new(), CancellationToken::new());
        let found = async {
            let asked = async || (test.rows().await == 1).then_some(());
            testkit::wait::until("the mail is found", asked).await;
            stop.cancel();
        };
        tokio::join!(run_source(&test.deps, polled, &awaited, &stop), found);
        let tasks = &test.deps.tasks;
        assert_eq!(tasks.of("poller of scripted"), 2);
        let warning = tasks.warning().unwrap();
        assert_eq!(warning, "poller of scripted was restarted 2 times");
    }
}
