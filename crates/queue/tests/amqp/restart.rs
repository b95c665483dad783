//! A private broker that is killed, stopped and starved of memory.

use std::ops::RangeInclusive;

use pipeline::{DeliveryId, QueueError};
use testkit::server::Server;
use testkit::wait::{soon, until};

use crate::broker::{self, notify_until_taken, receive, settings};

/// Makes the broker sync its list of queues to disk. RabbitMQ 3.10 does so half a
/// second after a queue is created. Killed before that, it comes back with a queue
/// that does not answer and must be deleted.
fn sync_queue_metadata(server: &Server) {
    server.ctl(&["eval", "[ok = dets:sync(Table) || Table <- dets:all()]."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_survive_a_broker_kill_stop_and_reset() {
    let mut server = Server::rabbitmq();
    let settings = settings(server.url());
    let queue = broker::open(&settings).await;
    let mut bell = queue.bell();

    // Killed: a confirmed notification is on disk.
    let before = notify_until_taken(&queue).await;
    sync_queue_metadata(&server);
    server.kill();
    let refused = until("notifications fail while it is down", || async {
        queue.doorbell.notify(&[DeliveryId::new()]).await.err()
    });
    assert!(matches!(refused.await, QueueError::Unavailable(_)));
    server.start();
    receive(&mut bell, before).await;

    // Stopped cleanly.
    let before = notify_until_taken(&queue).await;
    server.stop();
    server.start();
    receive(&mut bell, before).await;

    // Reset: the queues are gone and are declared again.
    server.ctl(&["stop_app"]);
    server.ctl(&["reset"]);
    server.ctl(&["start_app"]);
    let after = notify_until_taken(&queue).await;
    receive(&mut bell, after).await;
    soon("it closes", queue.close()).await;
}

/// Waits until the broker counts this many notifications, ready or unacknowledged. It counts
/// every five seconds, so the first answer may be old.
async fn listed(server: &Server, queue: &str, notifications: RangeInclusive<u32>) {
    until("the broker counts the notifications", || async {
        let listed = server.ctl(&["list_queues", "name", "messages"]);
        let (_, count) = listed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .find(|(name, _)| *name == queue)?;
        notifications.contains(&count.parse().ok()?).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_under_memory_alarm_refuses_notifications_and_takes_acks() {
    let server = Server::rabbitmq();
    let settings = settings(server.url());
    let queue = broker::open(&settings).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        notify_until_taken(&queue).await;
        let mut bell = queue.bell();
        held.extend(soon("the notification arrives", bell.next()).await);
    }
    listed(&server, &settings.name, 3..=3).await;

    server.ctl(&["set_vm_memory_high_watermark", "0.00001"]);
    let mut taken = 0;
    let refused = loop {
        match queue.doorbell.notify(&[DeliveryId::new()]).await {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, QueueError::Unavailable(_)), "{refused:?}");
    for notification in held {
        soon("the answer ends", notification.done()).await;
    }
    // The acknowledged notifications are gone although the alarm is on. Left are the notifications
    // taken meanwhile, and perhaps one that the broker read and did not confirm.
    listed(&server, &settings.name, taken..=taken + 1).await;

    server.ctl(&["set_vm_memory_high_watermark", "0.6"]);
    let later = notify_until_taken(&queue).await;
    receive(&mut queue.bell(), later).await;
    soon("it closes", queue.close()).await;
}
