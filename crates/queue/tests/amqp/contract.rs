//! The queue contract, run against the queue in RabbitMQ.

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{Doorbell, DoorbellListener, Probe};
use queue::{Queue, Settings};
use testkit::queue_contract::QueueSubject;

use crate::broker;

struct Amqp(Queue);

#[async_trait]
impl QueueSubject for Amqp {
    async fn open(capacity: u32) -> Self {
        let settings = Settings {
            capacity,
            ..broker::settings(&broker::url())
        };
        Self(broker::open(&settings).await)
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

testkit::queue_contract!(Amqp);
