//! The queue contract, run against the queue inside one process.

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{Doorbell, DoorbellListener, Probe};
use queue::{Queue, Settings};
use testkit::queue_contract::QueueSubject;

struct InProcess(Queue);

#[async_trait]
impl QueueSubject for InProcess {
    async fn open(capacity: u32) -> Self {
        let settings = Settings {
            capacity,
            ..Settings::default()
        };
        let Ok(queue) = queue::open(&settings).await else {
            panic!("the settings are sound");
        };
        Self(queue)
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::clone(&self.0.doorbell)
    }

    fn probe(&self) -> Arc<dyn Probe> {
        Arc::clone(&self.0.probe)
    }

    fn listener(&self) -> Box<dyn DoorbellListener> {
        self.0.bell()
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

testkit::queue_contract!(InProcess);
