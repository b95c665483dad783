//! A broker of the test's own, to be killed, stopped and starved.

use std::ops::RangeInclusive;

use pipeline::{DeliveryId, QueueError};
use testkit::patience::{soon, until};
use testkit::server::Server;

use crate::broker::{self, hear_of, ring_until_taken, settings};

/// Has the broker write down which queues it has. RabbitMQ 3.10 does so half a
/// second after a queue is created; killed before, it comes back with a queue
/// that answers nobody, and only deleting that queue helps.
fn remember_the_queues(server: &Server) {
    server.ctl(&["eval", "[ok = dets:sync(Table) || Table <- dets:all()]."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rings_and_bells_outlive_a_broker_that_is_killed_stopped_and_wiped() {
    let mut server = Server::rabbitmq();
    let settings = settings(server.url());
    let queue = broker::open(&settings).await;
    let mut bell = queue.bell();

    // Killed: what was taken is on disk.
    let before = ring_until_taken(&queue).await;
    remember_the_queues(&server);
    server.kill();
    let refused = until("rings fail while it is down", || async {
        queue.doorbell.notify(&[DeliveryId::new()]).await.err()
    });
    assert!(matches!(refused.await, QueueError::Unavailable(_)));
    server.start();
    hear_of(&mut bell, before).await;

    // Stopped in good order.
    let before = ring_until_taken(&queue).await;
    server.stop();
    server.start();
    hear_of(&mut bell, before).await;

    // Wiped: the queues are gone and are declared again.
    server.ctl(&["stop_app"]);
    server.ctl(&["reset"]);
    server.ctl(&["start_app"]);
    let after = ring_until_taken(&queue).await;
    hear_of(&mut bell, after).await;
    soon("it closes", queue.close()).await;
}

/// Waits until the broker counts so many rings, waiting or in hand. It counts
/// every five seconds, so what it says first may be old.
async fn listed(server: &Server, queue: &str, rings: RangeInclusive<u32>) {
    until("the broker counts the rings", || async {
        let listed = server.ctl(&["list_queues", "name", "messages"]);
        let (_, count) = listed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .find(|(name, _)| *name == queue)?;
        rings.contains(&count.parse().ok()?).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_starved_broker_takes_no_ring_but_still_takes_answers() {
    let server = Server::rabbitmq();
    let settings = settings(server.url());
    let queue = broker::open(&settings).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        ring_until_taken(&queue).await;
        let mut bell = queue.bell();
        held.extend(soon("the ring is heard", bell.next()).await);
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
    for ring in held {
        soon("the answer ends", ring.done()).await;
    }
    // The answered rings are gone, under the alarm. What was taken meanwhile is
    // left, and perhaps the ring that the broker read and did not confirm.
    listed(&server, &settings.name, taken..=taken + 1).await;

    server.ctl(&["set_vm_memory_high_watermark", "0.6"]);
    let later = ring_until_taken(&queue).await;
    hear_of(&mut queue.bell(), later).await;
    soon("it closes", queue.close()).await;
}
