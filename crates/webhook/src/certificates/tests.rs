//! What is cached, what is fetched, and how often.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use testkit::sns::Sns;

use super::*;

/// A certificate host. It returns a certificate, or the answer that a test set.
#[derive(Default)]
struct Host {
    asked: AtomicUsize,
    /// Nothing is there, whatever the URL, except for those that begin with "ours".
    is_empty: bool,
    answer: Mutex<Option<Result<Vec<u8>, CertificateUnavailable>>>,
    delay: Duration,
}

#[async_trait]
impl CertificateFetch for Host {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, CertificateUnavailable> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.delay).await;
        if self.is_empty && !url.starts_with("ours") {
            return Err(CertificateUnavailable::NotThere);
        }
        let answer = self.answer.lock().expect("an answer").take();
        answer.unwrap_or_else(|| Ok(Sns::at("").certificate().as_bytes().to_vec()))
    }
}

/// A clock that stands still until it is moved.
#[derive(Default)]
struct FrozenClock(AtomicI64);

impl FrozenClock {
    fn advance(&self, span: Duration) {
        let millis = i64::try_from(span.as_millis()).expect("a span");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

fn certificates(host: Host) -> (Arc<Host>, Arc<FrozenClock>, Arc<Certificates>) {
    let (host, clock) = (Arc::new(host), Arc::new(FrozenClock::default()));
    let from: Arc<dyn CertificateFetch> = Arc::<Host>::clone(&host);
    let certificates = Certificates::new(from, Arc::<FrozenClock>::clone(&clock));
    (host, clock, Arc::new(certificates))
}

#[tokio::test]
async fn concurrent_posts_fetch_a_certificate_once() {
    let (host, _, certificates) = certificates(Host {
        delay: Duration::from_millis(50),
        ..Host::default()
    });
    let posts: Vec<_> = (0..50)
        .map(|_| {
            let certificates = Arc::clone(&certificates);
            tokio::spawn(async move { certificates.get("a", None).await })
        })
        .collect();
    for post in posts {
        assert!(post.await.expect("a post").is_ok());
    }
    assert_eq!(host.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn certificate_is_fetched_again_after_a_day() {
    let (host, clock, certificates) = certificates(Host::default());
    assert!(certificates.get("a", None).await.is_ok());
    clock.advance(Duration::from_hours(23));
    assert!(certificates.get("a", None).await.is_ok());
    assert_eq!(host.asked.load(Ordering::SeqCst), 1);
    clock.advance(Duration::from_hours(1));
    assert!(certificates.get("a", None).await.is_ok());
    assert_eq!(host.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn failed_fetch_is_not_cached() {
    let (away, missing) = (
        CertificateUnavailable::Away,
        CertificateUnavailable::NotThere,
    );
    for (answer, error) in [(Err(away), away), (Ok(b"<html>".to_vec()), missing)] {
        let (_, clock, certificates) = certificates(Host {
            answer: Mutex::new(Some(answer)),
            ..Host::default()
        });
        assert_eq!(certificates.get("a", None).await, Err(error));
        clock.advance(Duration::from_mins(4));
        assert!(certificates.get("a", None).await.is_ok());
    }
}

#[tokio::test]
async fn certificate_host_that_does_not_answer_times_out() {
    let certificates = Certificates {
        timeout: Duration::from_millis(20),
        ..Certificates::new(
            Arc::new(Host {
                delay: Duration::from_hours(1),
                ..Host::default()
            }),
            Arc::new(FrozenClock::default()),
        )
    };
    assert_eq!(
        certificates.get("a", None).await,
        Err(CertificateUnavailable::Away)
    );
}

#[tokio::test]
async fn made_up_certificate_urls_leave_the_fetches_of_other_addresses() {
    let (host, clock, certificates) = certificates(Host::default());
    let [stranger, provider] = [[192, 0, 2, 1], [198, 51, 100, 7]].map(|ip| Some(ip.into()));
    assert!(certificates.get("ours", provider).await.is_ok());
    for number in 0..100 {
        let url = format!("theirs-{number}");
        let _ = certificates.get(&url, stranger).await;
    }
    let asked = host.asked.load(Ordering::SeqCst);
    assert_eq!(asked, 1 + MOST_OF_AN_ADDRESS);
    assert!(certificates.get("ours", provider).await.is_ok());
    // A new certificate of the provider is fetched all the same.
    assert!(certificates.get("new", provider).await.is_ok());
    clock.advance(Duration::from_secs(61));
    assert!(certificates.get("theirs", stranger).await.is_ok());
}

#[tokio::test]
async fn fetches_of_all_addresses_together_are_limited() {
    let (host, _, certificates) = certificates(Host::default());
    for number in 0..200 {
        let peer = Some([192, 0, 2, number].into());
        let _ = certificates.get(&format!("theirs-{number}"), peer).await;
    }
    assert_eq!(host.asked.load(Ordering::SeqCst), MOST_IN_A_MINUTE);
    assert!(certificates.kept.lock().expect("kept").len() <= MOST_KEPT);
}

/// A hundred addresses that make up names every two seconds, for ten minutes. The provider
/// needs its certificate at the beginning and, after a rotation, another one.
#[tokio::test]
async fn hundred_addresses_with_made_up_names_do_not_use_up_the_fetches_for_long() {
    let (host, clock, certificates) = certificates(Host {
        is_empty: true,
        ..Host::default()
    });
    let provider = Some([198, 51, 100, 7].into());
    let mut refused = 0;
    for round in 0..300 {
        for number in 0..100 {
            let peer = Some([192, 0, 2, number].into());
            let url = format!("theirs-{round}-{number}");
            assert!(certificates.get(&url, peer).await.is_err());
        }
        if round % 30 == 29 {
            // Each minute another name, which was never cached.
            let ours = certificates.get(&format!("ours-{round}"), provider).await;
            refused += u32::from(ours.is_err());
        }
        clock.advance(Duration::from_secs(2));
    }
    assert!(refused <= 2, "{refused} of 10 were refused");
    let asked = host.asked.load(Ordering::SeqCst);
    assert!(asked < 10 * MOST_IN_A_MINUTE / 2, "{asked} fetches");
}

#[tokio::test]
async fn certificate_that_was_cached_before_is_fetched_again_in_any_case() {
    let (_, clock, certificates) = certificates(Host {
        is_empty: true,
        ..Host::default()
    });
    assert!(certificates.get("ours", None).await.is_ok());
    clock.advance(KEPT_FOR);
    for number in 0..200 {
        let peer = Some([192, 0, 2, number].into());
        let url = format!("theirs-{number}");
        assert!(certificates.get(&url, peer).await.is_err());
    }
    let new = certificates.get("ours-new", None).await;
    assert_eq!(new, Err(CertificateUnavailable::Away));
    assert!(certificates.get("ours", None).await.is_ok());
}
