use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use super::*;

/// No test takes so long.
const LONG: Duration = Duration::from_hours(1);
const SHORT: Duration = Duration::from_millis(10);

/// A probe that takes its time and counts.
#[derive(Default)]
struct Slow {
    begun: AtomicUsize,
    is_broken: AtomicBool,
    panics: AtomicBool,
}

impl Slow {
    async fn work(&self) -> bool {
        self.begun.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(500)).await;
        assert!(!self.panics.load(Ordering::Relaxed), "the test wants it");
        self.is_broken.load(Ordering::Relaxed)
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Probe for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    async fn probe(&self) -> Result<(), ProbeError> {
        if self.work().await {
            return Err(ProbeError("it is broken".to_owned()));
        }
        Ok(())
    }

    async fn needs_restart(&self) -> bool {
        self.work().await
    }
}

fn shared(reused: Duration) -> (Arc<Slow>, Arc<dyn Probe>) {
    let slow = Arc::new(Slow::default());
    let probe: Arc<dyn Probe> = Arc::<Slow>::clone(&slow);
    (slow, SharedProbe::reused_for(reused, &probe))
}

#[tokio::test]
async fn concurrent_and_quickly_repeated_requests_get_one_probe() {
    let (slow, shared) = shared(LONG);
    let all = join_all((0..100).map(|_| shared.probe())).await;
    assert!(all.iter().all(Result::is_ok));
    shared.probe().await.unwrap();
    assert_eq!(slow.begun(), 1);
    let all = join_all((0..100).map(|_| shared.needs_restart())).await;
    assert!(!all.contains(&true) && !shared.needs_restart().await);
    assert_eq!(slow.begun(), 2);
}

#[tokio::test]
async fn old_answer_is_not_given_again() {
    let (slow, shared) = shared(SHORT);
    for is_broken in [false, true, false] {
        slow.is_broken.store(is_broken, Ordering::Relaxed);
        let told = shared.probe().await.err().map(|error| error.to_string());
        assert_eq!(told, is_broken.then(|| "it is broken".to_owned()));
        assert_eq!(shared.needs_restart().await, is_broken);
        sleep(SHORT * 2).await;
    }
    assert_eq!(slow.begun(), 6);
}

#[tokio::test]
async fn clients_that_hang_up_start_one_probe() {
    let (slow, shared) = shared(LONG);
    for _ in 0..5 {
        // On a busy machine the probe may have ended before.
        let _ = timeout(SHORT, shared.probe()).await;
    }
    shared.probe().await.unwrap();
    assert_eq!(slow.begun(), 1);
}

#[tokio::test]
async fn probe_that_ends_without_an_answer_fails_and_is_repeated() {
    let (slow, shared) = shared(LONG);
    slow.panics.store(true, Ordering::Relaxed);
    assert!(shared.probe().await.is_err());
    slow.panics.store(false, Ordering::Relaxed);
    shared.probe().await.unwrap();
}
