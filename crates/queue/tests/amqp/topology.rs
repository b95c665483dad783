//! What is in the broker: the declared queues and the form of a notification.

use lapin::options::{BasicNackOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, LongString};
use pipeline::DeliveryId;
use testkit::wait::{soon, until};

use crate::broker::{self, Inspector, settings, url};

/// The expected arguments, written out independently of the code.
fn expected(name: &str) -> Vec<(&'static str, AMQPValue)> {
    let text = |text: &str| AMQPValue::LongString(LongString::from(text));
    vec![
        ("x-queue-type", text("quorum")),
        ("x-delivery-limit", AMQPValue::LongInt(20)),
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text(&format!("{name}.dead"))),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-max-length", AMQPValue::LongInt(1_000)),
        ("x-overflow", text("reject-publish")),
    ]
}

/// Whether the broker accepts these arguments for the existing queue.
async fn is_the_same(name: &str, arguments: &[(&'static str, AMQPValue)]) -> bool {
    let inspector = Inspector::connect(&url()).await;
    let mut table = FieldTable::default();
    for (key, value) in arguments {
        table.insert((*key).into(), value.clone());
    }
    let options = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    let declared = inspector.channel.queue_declare(name.into(), options, table);
    declared.await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_is_declared_as_quorum_with_exactly_these_arguments() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    let arguments = expected(&settings.name);
    assert!(is_the_same(&settings.name, &arguments).await);
    // The broker does not compare the delivery limit; the test below does.
    let compared = arguments
        .iter()
        .filter(|(key, _)| *key != "x-delivery-limit");
    for (key, _) in compared {
        let mut without = arguments.clone();
        without.retain(|(other, _)| other != key);
        assert!(
            !is_the_same(&settings.name, &without).await,
            "{key} is not declared"
        );
    }
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notification_over_the_delivery_limit_is_dead_lettered() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    let delivery = broker::notify_until_taken(&queue).await;
    let inspector = Inspector::connect(&url()).await;
    let requeue = BasicNackOptions {
        requeue: true,
        multiple: false,
    };
    for _ in 0..21 {
        let message = inspector.take(&settings.name).await;
        message.nack(requeue).await.unwrap();
    }
    let dead = inspector.take(&format!("{}.dead", settings.name)).await;
    let body = String::from_utf8_lossy(&dead.data).into_owned();
    assert!(body.contains(&delivery.to_string()), "{body}");
    assert_eq!(inspector.waiting(&settings.name).await, 0);
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notification_in_the_broker_holds_only_ids() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    let (one, two) = (DeliveryId::new(), DeliveryId::new());
    queue.doorbell.notify(&[one, two]).await.unwrap();

    let message = Inspector::connect(&url()).await.take(&settings.name).await;
    let body = String::from_utf8(message.data.clone()).unwrap();
    assert_eq!(body, format!(r#"{{"v":1,"deliveries":["{one}","{two}"]}}"#));
    assert_eq!(message.properties.delivery_mode(), &Some(2));
    assert_eq!(message.properties.correlation_id(), &None);
    assert_eq!(message.properties.message_id(), &None);
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_message_is_removed_from_the_queue() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    let inspector = Inspector::connect(&url()).await;
    let garbage: [&[u8]; 4] = [b"", b"hello", b"{\"v\":9}", b"\xff\xfe"];
    for body in garbage {
        inspector.publish(&settings.name, body).await;
    }
    let delivery = broker::notify_until_taken(&queue).await;
    let mut bell = queue.bell();
    let notification = soon("the notification behind the garbage", bell.next())
        .await
        .unwrap();
    assert_eq!(notification.deliveries, [delivery]);
    notification.done().await;
    drop(bell);
    queue.close().await;
    // Nothing was redelivered when the connection ended.
    until("the queue is empty", || async {
        (inspector.waiting(&settings.name).await == 0).then_some(())
    })
    .await;
    assert_eq!(
        inspector.waiting(&format!("{}.dead", settings.name)).await,
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_with_other_arguments_gets_no_notifications() {
    let settings = settings(&url());
    let inspector = Inspector::connect(&url()).await;
    let options = QueueDeclareOptions::default();
    inspector
        .channel
        .queue_declare(
            settings.name.as_str().into(),
            options,
            FieldTable::default(),
        )
        .await
        .unwrap();
    let queue = queue::open(&settings).await.unwrap();
    assert!(queue.doorbell.notify(&[DeliveryId::new()]).await.is_err());
    assert!(queue.probe.probe().await.is_err());
    inspector.delete(&settings.name).await;
    broker::ready(&queue).await;
    broker::notify_until_taken(&queue).await;
    queue.close().await;
}
