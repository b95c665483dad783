//! The contract of a queue.
//!
//! A queue implements [`QueueSubject`] and calls [`crate::queue_contract!`], which turns
//! each function below into a test. Every function gets its own queue. A listener holds
//! one unacknowledged notification at a time, so that it is certain which listener gets
//! which notification.

mod acknowledging;
mod closing;
mod receiving;

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{DeliveryId, Doorbell, DoorbellListener, Notification, Probe};

use crate::wait::soon;

pub use acknowledging::*;
pub use closing::*;
pub use receiving::*;

/// An open queue under test.
#[async_trait]
pub trait QueueSubject: Send + Sync {
    /// Opens an empty queue. It holds `capacity` notifications or slightly more, and
    /// its listeners hold one unacknowledged notification each.
    async fn open(capacity: u32) -> Self
    where
        Self: Sized;

    /// Its sending side.
    fn doorbell(&self) -> Arc<dyn Doorbell>;

    /// Its probe.
    fn probe(&self) -> Arc<dyn Probe>;

    /// A new listener.
    fn listener(&self) -> Box<dyn DoorbellListener>;

    /// Closes it.
    async fn close(&self);
}

/// Makes a test of every rule of the contract for a [`QueueSubject`].
#[macro_export]
macro_rules! queue_contract {
    ($subject:ty) => {
        $crate::queue_contract!(
            $subject:
            notification_arrives_with_its_ids,
            one_notification_carries_many_ids_in_order,
            notification_about_no_deliveries_is_not_sent,
            notifications_wait_for_a_listener,
            two_listeners_hold_two_notifications_at_once,
            each_notification_goes_to_one_listener,
            listener_dropped_while_it_waits_loses_nothing,
            notification_dropped_without_acknowledgement_comes_again,
            notification_of_a_dropped_listener_goes_to_another,
            acknowledged_notification_does_not_come_again,
            notification_can_be_acknowledged_after_its_listener_is_dropped,
            full_queue_refuses_until_it_has_room,
            closing_ends_every_listener,
            closed_queue_cannot_be_notified,
            probe_fails_when_the_queue_is_closed,
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

/// Enough for every rule that does not fill the queue.
const ROOMY: u32 = 1_000;

async fn notify(queue: &impl QueueSubject, deliveries: &[DeliveryId]) {
    if let Err(error) = queue.doorbell().notify(deliveries).await {
        panic!("the queue refused the notification: {error:?}");
    }
}

/// Notifies about a new delivery.
async fn notify_once(queue: &impl QueueSubject) -> DeliveryId {
    let delivery = DeliveryId::new();
    notify(queue, &[delivery]).await;
    delivery
}

async fn receive(listener: &mut Box<dyn DoorbellListener>) -> Notification {
    match soon("a notification arrives", listener.next()).await {
        Some(notification) => notification,
        None => panic!("the listener ended"),
    }
}
