//! A bounded wait for the next item of an inbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipeline::{ArtifactView, ConsumerId};
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;

use crate::list::Place;
use crate::problem::Problem;
use crate::routes::Feed;

/// The items after a place, as soon as there are any; none when `patience` has
/// passed or the process ends.
pub(crate) async fn arrivals(
    feed: &Feed,
    place: &Place,
    patience: Duration,
) -> Result<Vec<ArtifactView>, Problem> {
    let until = Instant::now() + patience;
    // Watch first and look second: what arrives between the two is then news,
    // not something that this wait sleeps through.
    let mut arrival = feed.deps.log.watch(&place.inbox);
    loop {
        let views = place.look(feed).await?;
        if !views.is_empty() {
            return Ok(views);
        }
        tokio::select! {
            () = arrival.news() => {}
            () = tokio::time::sleep_until(until) => return Ok(views),
            () = feed.deps.shutdown.cancelled() => return Ok(views),
        }
    }
}

/// Counts who waits, so that one key cannot take every seat.
pub(crate) struct WaitRoom {
    limit: usize,
    open: Mutex<HashMap<ConsumerId, usize>>,
    gauge: Gauge,
}

impl WaitRoom {
    pub(crate) fn new(limit: usize, gauge: Gauge) -> Arc<Self> {
        Arc::new(Self {
            limit,
            open: Mutex::default(),
            gauge,
        })
    }

    /// A seat for one wait, unless this consumer has all of its seats taken.
    pub(crate) fn enter(self: &Arc<Self>, consumer: &ConsumerId) -> Result<Seat, Problem> {
        let mut open = self.open();
        let taken = open.entry(consumer.clone()).or_default();
        if *taken >= self.limit {
            return Err(Problem::TooManyWaits);
        }
        *taken += 1;
        self.gauge.inc();
        Ok(Seat {
            room: Arc::clone(self),
            consumer: consumer.clone(),
        })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<ConsumerId, usize>> {
        // The counts are whole whenever the lock is free, also after a panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A taken seat, free again when it is dropped. A client that goes away is not
/// noticed before there is an answer to write, so its seat is taken until then.
pub(crate) struct Seat {
    room: Arc<WaitRoom>,
    consumer: ConsumerId,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.room.open();
        if let Some(taken) = open.get_mut(&self.consumer) {
            *taken -= 1;
            if *taken == 0 {
                open.remove(&self.consumer);
            }
        }
        self.room.gauge.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_counted_per_consumer_and_freed_on_drop() {
        let room = WaitRoom::new(2, Gauge::default());
        let (a, b): (ConsumerId, ConsumerId) = ("a".parse().unwrap(), "b".parse().unwrap());
        let first = room.enter(&a).ok().unwrap();
        let _second = room.enter(&a).ok().unwrap();
        assert!(matches!(room.enter(&a), Err(Problem::TooManyWaits)));
        let other = room.enter(&b).ok().unwrap();
        assert_eq!(room.gauge.get(), 3);
        drop((first, other));
        assert!(room.enter(&a).is_ok());
        assert_eq!(room.gauge.get(), 1);
        assert_eq!(room.open().len(), 1);
    }
}
