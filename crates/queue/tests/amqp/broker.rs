//! The broker as the tests see it: directly, through lapin.

use lapin::message::BasicGetMessage;
use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
    QueueDeleteOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use pipeline::DeliveryId;
use queue::{Queue, Settings};
use testkit::proxy::Proxy;
use testkit::server::shared_url;
use testkit::wait::{soon, until};

/// The broker that all tests share.
pub(crate) fn url() -> String {
    shared_url("TEST_AMQP_URL")
}

/// Settings for a queue that no other test uses.
pub(crate) fn settings(url: &str) -> Settings {
    Settings {
        url: Some(url.into()),
        name: format!("test-{}", DeliveryId::new()),
        prefetch: 1,
        capacity: 1_000,
        ..Settings::default()
    }
}

/// Opens a queue and waits until it is connected and declared.
pub(crate) async fn open(settings: &Settings) -> Queue {
    let queue = queue::open(settings).await.unwrap();
    ready(&queue).await;
    queue
}

/// Waits until the probe of the queue succeeds.
pub(crate) async fn ready(queue: &Queue) {
    until("the queue is ready", || async {
        queue.probe.probe().await.ok()
    })
    .await;
}

/// Notifies of a new delivery until the queue takes it.
pub(crate) async fn notify_until_taken(queue: &Queue) -> DeliveryId {
    let delivery = DeliveryId::new();
    until("a notification is taken", || async {
        queue.doorbell.notify(&[delivery]).await.ok()
    })
    .await;
    delivery
}

/// Consumes and acknowledges notifications until one is for this delivery.
pub(crate) async fn receive(bell: &mut Box<dyn pipeline::DoorbellListener>, delivery: DeliveryId) {
    let receiving = async {
        loop {
            let notification = bell.next().await.expect("the listener ended");
            let found = notification.deliveries.contains(&delivery);
            notification.done().await;
            if found {
                return;
            }
        }
    };
    soon("the notification arrives", receiving).await;
}

/// A proxy in front of the shared broker and the URL that leads through it.
pub(crate) async fn proxied() -> (Proxy, String) {
    let proxy = Proxy::to(&host()).await;
    let through = url().replace(&host(), &proxy.address().to_string());
    (proxy, through)
}

/// The shared broker behind TLS: the proxy, its URL and its certificate in PEM.
pub(crate) async fn proxied_with_tls() -> (Proxy, String, String) {
    let (proxy, certificate) = Proxy::with_tls(&host()).await;
    let name = format!("localhost:{}", proxy.address().port());
    let through = url().replace("amqp://", "amqps://").replace(&host(), &name);
    (proxy, through, certificate)
}

/// Host and port of the shared broker.
fn host() -> String {
    let url = url();
    let (_, rest) = url.split_once('@').expect("a URL with a user");
    rest.split('/').next().unwrap().to_owned()
}

/// A connection of the test's own.
pub(crate) struct Inspector {
    connection: Connection,
    pub(crate) channel: Channel,
}

impl Inspector {
    pub(crate) async fn connect(url: &str) -> Self {
        let connection = Connection::connect(url, ConnectionProperties::default());
        let connection = soon("the inspector connects", connection).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        // What is published is in the queue before the publisher goes on.
        let confirms = ConfirmSelectOptions::default();
        channel.confirm_select(confirms).await.unwrap();
        Self {
            connection,
            channel,
        }
    }

    /// Whether there is such a queue; asked on a channel of its own, which a
    /// missing queue closes.
    pub(crate) async fn has(&self, queue: &str) -> bool {
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let channel = self.connection.create_channel().await.unwrap();
        let asked = channel.queue_declare(queue.into(), options, FieldTable::default());
        asked.await.is_ok()
    }

    /// How many notifications wait in the queue and are delivered to no consumer.
    pub(crate) async fn waiting(&self, queue: &str) -> u32 {
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let queue = self
            .channel
            .queue_declare(queue.into(), options, FieldTable::default())
            .await
            .unwrap();
        queue.message_count()
    }

    pub(crate) async fn delete(&self, queue: &str) {
        let options = QueueDeleteOptions::default();
        let deleted = self.channel.queue_delete(queue.into(), options);
        deleted.await.unwrap();
    }

    pub(crate) async fn publish(&self, queue: &str, body: &[u8]) {
        let options = BasicPublishOptions::default();
        let properties = BasicProperties::default();
        self.channel
            .basic_publish("".into(), queue.into(), options, body, properties)
            .await
            .unwrap()
            .await
            .unwrap();
    }

    /// The message at the head of a queue, once there is one.
    pub(crate) async fn take(&self, queue: &str) -> BasicGetMessage {
        until("a message is in the queue", || async {
            let options = BasicGetOptions { no_ack: false };
            let message = self.channel.basic_get(queue.into(), options);
            message.await.unwrap()
        })
        .await
    }
}
