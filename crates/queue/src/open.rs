//! Opens the kind of queue that the settings name.

use std::fmt;
use std::sync::Arc;

use pipeline::{Doorbell, DoorbellListener, Probe};
use secrecy::ExposeSecret;

use crate::amqp::{Address, Amqp, Transport};
use crate::in_process::InProcess;
use crate::open_error::OpenError;
use crate::settings::Settings;

/// An open queue. Clones are handles to the same queue.
#[derive(Clone)]
pub struct Queue {
    /// Sends notifications.
    pub doorbell: Arc<dyn Doorbell>,
    /// Checks whether notifications can be sent and consumed.
    pub probe: Arc<dyn Probe>,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    InProcess(Arc<InProcess>),
    Amqp(Arc<Amqp>),
}

/// Opens the queue that the settings name. With a broker this returns at once and
/// connects in the background, as soon as the broker is available.
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
    // The broker's limit is 255 bytes, and the dead-letter queue's name has a suffix.
    if !(1..=200).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Err(OpenError::MalformedName);
    }
    if settings.prefetch == 0 || settings.capacity == 0 {
        return Err(OpenError::Nothing);
    }
    Ok(())
}

impl Queue {
    /// A new consumer of the queue. Each notification goes to one of the consumers.
    pub fn bell(&self) -> Box<dyn DoorbellListener> {
        match &self.kind {
            Kind::InProcess(queue) => queue.bell(),
            Kind::Amqp(queue) => queue.bell(),
        }
    }

    /// Closes the queue for good: every consumer ends and every later notification fails.
    /// Notifications that are not acknowledged are redelivered to another process, so
    /// acknowledge them first. A second call does nothing.
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
    async fn invalid_queue_settings_are_refused() {
        let name = refusal(|s| s.name = "a b".to_owned()).await;
        assert_eq!(name, OpenError::MalformedName);
        let name = refusal(|s| s.name = String::new()).await;
        assert_eq!(name, OpenError::MalformedName);
        assert_eq!(refusal(|s| s.prefetch = 0).await, OpenError::Nothing);
        assert_eq!(refusal(|s| s.capacity = 0).await, OpenError::Nothing);
    }

    #[tokio::test]
    async fn malformed_broker_url_is_refused_without_its_password() {
        for url in ["amqp:guest:hunter2", "http://u:hunter2@host/", "hunter2"] {
            let error = refusal(|s| s.url = Some(url.into())).await;
            assert!(matches!(error, OpenError::MalformedUrl(_)), "{url}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{url}");
        }
    }
}
