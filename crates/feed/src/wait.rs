//! A bounded wait for the next item of an inbox.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipeline::{ArtifactView, ConsumerId, InboxWatch};
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;

use crate::list::Place;
use crate::problem::Problem;
use crate::routes::Feed;

/// How long a wait that could not look rests before it looks again, at least and
/// at most: thousands of them must not all come back at the same moment.
const REST: RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_millis(750);

/// The items after a place, as soon as there are any; none when `patience` has
/// passed or the process ends.
///
/// A store that is away when the wait begins is told at once. One that goes away
/// later is waited for, and told only if it is still away at the end.
pub(crate) async fn arrivals(
    feed: &Feed,
    place: &Place,
    patience: Duration,
) -> Result<Vec<ArtifactView>, Problem> {
    let until = Instant::now() + patience;
    // Watch first and look second: what arrives between the two is then news,
    // not something that this wait sleeps through.
    let mut arrival = feed.deps.log.watch(&place.inbox);
    let mut looked = Ok(place.look(feed).await?);
    loop {
        match &looked {
            Ok(views) if !views.is_empty() => return looked,
            Err(problem) if !problem.is_passing() => return looked,
            Ok(_) | Err(_) => {}
        }
        match woken(feed, &mut *arrival, until, looked.is_err()).await {
            Woken::ToLook => looked = place.look(feed).await,
            Woken::ByTheHour | Woken::ToEnd => return looked,
        }
    }
}

/// Why a wait is awake.
pub(crate) enum Woken {
    /// There may be something new to see.
    ToLook,
    /// Its time is over.
    ByTheHour,
    /// The process ends.
    ToEnd,
}

/// Sleeps until there is news, its time is over or the process ends. Whoever
/// could not look at the last news rests a little, and looks again without any.
pub(crate) async fn woken(
    feed: &Feed,
    arrival: &mut dyn InboxWatch,
    until: Instant,
    has_failed: bool,
) -> Woken {
    let news = async {
        if has_failed {
            tokio::time::sleep(rand::random_range(REST)).await;
        } else {
            arrival.changed().await;
        }
    };
    tokio::select! {
        () = news => Woken::ToLook,
        () = tokio::time::sleep_until(until) => Woken::ByTheHour,
        () = feed.deps.shutdown.cancelled() => Woken::ToEnd,
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
