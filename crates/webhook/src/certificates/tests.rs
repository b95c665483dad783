//! What is kept, what is asked for, and how often.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use testkit::sns::Sns;

use super::*;

/// A place that answers with a certificate, or with what it was told.
#[derive(Default)]
struct Place {
    asked: AtomicUsize,
    answer: Mutex<Option<Result<Vec<u8>, CertificateAway>>>,
    delay: Duration,
}

#[async_trait]
impl CertificateFetch for Place {
    async fn fetch(&self, _url: &str) -> Result<Vec<u8>, CertificateAway> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.delay).await;
        let told = self.answer.lock().expect("an answer").take();
        told.unwrap_or_else(|| Ok(Sns::at("").certificate().as_bytes().to_vec()))
    }
}

/// A clock that stands still until it is moved.
#[derive(Default)]
struct Still(AtomicI64);

impl Still {
    fn advance(&self, span: Duration) {
        let millis = i64::try_from(span.as_millis()).expect("a span");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

fn certificates(place: Place) -> (Arc<Place>, Arc<Still>, Arc<Certificates>) {
    let (place, clock) = (Arc::new(place), Arc::new(Still::default()));
    let from: Arc<dyn CertificateFetch> = Arc::<Place>::clone(&place);
    let certificates = Certificates::new(from, Arc::<Still>::clone(&clock));
    (place, clock, Arc::new(certificates))
}

#[tokio::test]
async fn many_posts_at_once_get_a_certificate_once() {
    let (place, _, certificates) = certificates(Place {
        delay: Duration::from_millis(50),
        ..Place::default()
    });
    let posts: Vec<_> = (0..50)
        .map(|_| {
            let certificates = Arc::clone(&certificates);
            tokio::spawn(async move { certificates.get("a").await })
        })
        .collect();
    for post in posts {
        assert!(post.await.expect("a post").is_ok());
    }
    assert_eq!(place.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_certificate_is_got_anew_after_a_day() {
    let (place, clock, certificates) = certificates(Place::default());
    assert!(certificates.get("a").await.is_ok());
    clock.advance(Duration::from_hours(23));
    assert!(certificates.get("a").await.is_ok());
    assert_eq!(place.asked.load(Ordering::SeqCst), 1);
    clock.advance(Duration::from_hours(1));
    assert!(certificates.get("a").await.is_ok());
    assert_eq!(place.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    for answer in [Err(CertificateAway), Ok(b"<html>".to_vec())] {
        let (_, _, certificates) = certificates(Place {
            answer: Mutex::new(Some(answer)),
            ..Place::default()
        });
        assert_eq!(certificates.get("a").await, Err(CertificateAway));
        assert!(certificates.get("a").await.is_ok());
    }
}

#[tokio::test]
async fn a_place_that_does_not_answer_is_not_waited_for() {
    let certificates = Certificates {
        patience: Duration::from_millis(20),
        ..Certificates::new(
            Arc::new(Place {
                delay: Duration::from_hours(1),
                ..Place::default()
            }),
            Arc::new(Still::default()),
        )
    };
    assert_eq!(certificates.get("a").await, Err(CertificateAway));
}

#[tokio::test]
async fn strangers_cannot_have_many_got_and_those_that_are_here_stay() {
    let (place, clock, certificates) = certificates(Place::default());
    assert!(certificates.get("ours").await.is_ok());
    for number in 0..100 {
        let _ = certificates.get(&format!("theirs-{number}")).await;
    }
    assert_eq!(place.asked.load(Ordering::SeqCst), MOST_IN_A_MINUTE);
    assert!(certificates.get("ours").await.is_ok());
    clock.advance(Duration::from_secs(61));
    assert!(certificates.get("new").await.is_ok());
    assert!(certificates.kept.lock().expect("kept").len() <= MOST_KEPT);
}
