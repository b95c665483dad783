//! Opening a queue: the one place that knows which kind it is.

use std::fmt;
use std::sync::Arc;

use pipeline::{Doorbell, DoorbellListener, Probe};
use secrecy::ExposeSecret;

use crate::Settings;
use crate::amqp::{Address, Amqp, Transport};
use crate::in_process::InProcess;

/// The settings cannot be used. A broker that is away is not an error here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The URL does not name a broker. It is not repeated, for it may hold a
    /// password.
    #[error(
        "the queue's URL is malformed, {0}; it should look like amqp://user:password@host:5672/vhost"
    )]
    MalformedUrl(&'static str),
    /// The broker would refuse such a name.
    #[error("the queue's name must have 1 to 200 of A-Z, a-z, 0-9, `.`, `-` and `_`")]
    MalformedName,
    /// Nobody could prove to be the broker.
    #[error("the queue's ca_file cannot be read or holds no certificates in PEM")]
    MalformedCertificates,
    /// A bell that may hold nothing hears nothing.
    #[error("the queue's prefetch and capacity must be at least 1")]
    Nothing,
}

/// An open queue. Clones are handles of the same one.
#[derive(Clone)]
pub struct Queue {
    /// Rings.
    pub doorbell: Arc<dyn Doorbell>,
    /// Says whether rings would be taken and heard.
    pub probe: Arc<dyn Probe>,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    InProcess(Arc<InProcess>),
    Amqp(Arc<Amqp>),
}

/// Opens the queue that the settings name. With a broker this returns at once
/// and connects behind the caller's back, now or whenever the broker is there.
pub async fn open(settings: &Settings) -> Result<Queue, OpenError> {
    check(settings)?;
    let Some(url) = &settings.url else {
        let queue = Arc::new(InProcess::new(settings.capacity));
        return Ok(Queue {
            doorbell: Arc::<InProcess>::clone(&queue),
            probe: Arc::<InProcess>::clone(&queue),
            kind: Kind::InProcess(queue),
        });
    };
    let address = Address::parse(url.expose_secret())?;
    let transport = Transport::new(&address, settings.ca_file.as_deref())?;
    let queue = Arc::new(Amqp::start(address, transport, settings));
    Ok(Queue {
        doorbell: Arc::<Amqp>::clone(&queue),
        probe: Arc::<Amqp>::clone(&queue),
        kind: Kind::Amqp(queue),
    })
}

fn check(settings: &Settings) -> Result<(), OpenError> {
    let name = &settings.name;
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
    // The broker's limit is 255 bytes, and the dead-letter queue's name is longer.
    if !(1..=200).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Err(OpenError::MalformedName);
    }
    if settings.prefetch == 0 || settings.capacity == 0 {
        return Err(OpenError::Nothing);
    }
    Ok(())
}

impl Queue {
    /// A new consumer of the queue; bells share the rings among them.
    pub fn bell(&self) -> Box<dyn DoorbellListener> {
        match &self.kind {
            Kind::InProcess(queue) => queue.bell(),
            Kind::Amqp(queue) => queue.bell(),
        }
    }

    /// Closes the queue for good: every bell ends, every later ring fails.
    /// Rings that are still unanswered come again in another process, so answer
    /// them first. Closing twice is closing once.
    pub async fn close(&self) {
        match &self.kind {
            Kind::InProcess(queue) => queue.close(),
            Kind::Amqp(queue) => queue.close().await,
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::InProcess(_) => "Queue(in process)",
            Kind::Amqp(_) => "Queue(amqp)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(change: impl FnOnce(&mut Settings)) -> OpenError {
        let mut settings = Settings::default();
        change(&mut settings);
        open(&settings).await.unwrap_err()
    }

    #[tokio::test]
    async fn settings_that_cannot_work_are_refused_at_once() {
        let name = refusal(|s| s.name = "a b".to_owned()).await;
        assert_eq!(name, OpenError::MalformedName);
        let name = refusal(|s| s.name = String::new()).await;
        assert_eq!(name, OpenError::MalformedName);
        assert_eq!(refusal(|s| s.prefetch = 0).await, OpenError::Nothing);
        assert_eq!(refusal(|s| s.capacity = 0).await, OpenError::Nothing);
    }

    #[tokio::test]
    async fn a_malformed_url_is_refused_and_its_password_is_not_repeated() {
        for url in ["amqp:guest:hunter2", "http://u:hunter2@host/", "hunter2"] {
            let error = refusal(|s| s.url = Some(url.into())).await;
            assert!(matches!(error, OpenError::MalformedUrl(_)), "{url}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{url}");
        }
    }
}
