//! What every queue must do, whatever it is made of.
//!
//! A kind of queue implements [`Subject`] and calls [`crate::queue_contract!`],
//! which makes one test of each function below. Every function gets a queue of
//! its own. A bell holds one unanswered ring at a time, so that which bell hears
//! which ring does not hang on chance.

mod answering;
mod ending;
mod hearing;

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{DeliveryId, Doorbell, DoorbellListener, Notification, Probe};

use crate::patience::soon;

pub use answering::*;
pub use ending::*;
pub use hearing::*;

/// An open queue under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// Opens an empty queue that is ready to be rung. It holds `capacity` rings
    /// or somewhat more, and its bells hold one unanswered ring each.
    async fn open(capacity: u32) -> Self
    where
        Self: Sized;

    /// Its doorbell.
    fn doorbell(&self) -> Arc<dyn Doorbell>;

    /// Its probe.
    fn probe(&self) -> Arc<dyn Probe>;

    /// A new bell.
    fn bell(&self) -> Box<dyn DoorbellListener>;

    /// Closes it.
    async fn close(&self);
}

/// Makes a test of every rule of the contract for a [`Subject`].
#[macro_export]
macro_rules! queue_contract {
    ($subject:ty) => {
        $crate::queue_contract!(
            $subject:
            a_ring_arrives_with_its_ids,
            one_ring_carries_many_ids_in_order,
            ringing_for_nothing_rings_nothing,
            rings_wait_until_somebody_listens,
            two_bells_hold_two_rings_at_once,
            bells_share_the_rings_without_doubling_any,
            a_bell_dropped_while_it_waits_loses_nothing,
            a_ring_dropped_without_an_answer_comes_again,
            the_ring_of_a_dropped_bell_comes_to_another,
            an_answered_ring_does_not_come_again,
            a_ring_may_be_answered_after_its_bell_is_gone,
            a_full_queue_refuses_and_takes_again_when_it_has_room,
            closing_ends_every_bell,
            a_closed_queue_cannot_be_rung,
            the_probe_tells_an_open_queue_from_a_closed_one,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                $crate::queue_contract::$rule::<$subject>().await;
            }
        )+
    };
}

/// Enough for every rule that is not about fullness.
const ROOMY: u32 = 1_000;

async fn ring(queue: &impl Subject, deliveries: &[DeliveryId]) {
    if let Err(error) = queue.doorbell().notify(deliveries).await {
        panic!("the ring was not taken: {error:?}");
    }
}

/// Rings for a new delivery.
async fn ring_once(queue: &impl Subject) -> DeliveryId {
    let delivery = DeliveryId::new();
    ring(queue, &[delivery]).await;
    delivery
}

async fn hear(bell: &mut Box<dyn DoorbellListener>) -> Notification {
    match soon("a ring is heard", bell.next()).await {
        Some(ring) => ring,
        None => panic!("the bell ended"),
    }
}
