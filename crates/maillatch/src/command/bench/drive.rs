//! Sends the posts and times their answers.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use crate::command::progress;

use super::posts::Posts;
use super::wire::Wire;

/// When the next post is sent.
#[derive(Debug, Clone)]
pub(super) enum Pace {
    /// When its connection has the answer to the one before.
    AsAnswered,
    /// So many a second, whatever the server does.
    PerSecond(NonZeroU32),
    /// When an earlier mail is consumable.
    AsConsumable(InFlight),
}

/// The places for mails between their post and their code. The agents that see the codes
/// free them.
#[derive(Debug, Clone)]
pub(super) struct InFlight {
    pub(super) places: Arc<Semaphore>,
    /// How long to wait for a place.
    pub(super) patience: Duration,
}

impl InFlight {
    /// Takes a place. `false` if none became free in time.
    async fn take(&self) -> bool {
        let place = timeout(self.patience, self.places.acquire()).await;
        match place {
            Ok(Ok(place)) => {
                place.forget();
                true
            }
            Ok(Err(_)) | Err(_) => false,
        }
    }
}

/// One answered post.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    pub(super) lane: usize,
    pub(super) at: Instant,
    pub(super) took: Duration,
}

/// The answers to the posts.
#[derive(Debug)]
pub(super) struct Driven {
    pub(super) mails: usize,
    /// The posts that were answered 200.
    pub(super) acks: Vec<Ack>,
    /// The others, by status; 0 is a broken connection.
    pub(super) refused: BTreeMap<u16, usize>,
    pub(super) took: Duration,
}

/// Sends every post over `connections` connections.
pub(super) async fn run(
    url: &Url,
    posts: &Arc<Posts>,
    connections: usize,
    pace: Pace,
) -> Result<Driven> {
    let mut wires = Vec::new();
    for _ in 0..connections {
        let mut wire = Wire::to(url);
        let opened = wire.open().await;
        opened.with_context(|| format!("failed to connect to {url}"))?;
        wires.push(wire);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for wire in wires {
        let (posts, next) = (Arc::clone(posts), Arc::clone(&next));
        clients.spawn(client(wire, posts, next, pace.clone(), began));
    }
    let shown = tokio::spawn(show(Arc::clone(&next), posts.count()));
    let mut driven = Driven {
        mails: posts.mails(),
        acks: Vec::with_capacity(posts.count()),
        refused: BTreeMap::new(),
        took: Duration::ZERO,
    };
    while let Some(client) = clients.join_next().await {
        let (acks, refused) = client?;
        driven.acks.extend(acks);
        for (status, count) in refused {
            *driven.refused.entry(status).or_default() += count;
        }
    }
    driven.took = began.elapsed();
    shown.abort();
    progress::show(posts.count(), posts.count(), "posts");
    Ok(driven)
}

/// One connection: takes the next post until there is none.
async fn client(
    mut wire: Wire,
    posts: Arc<Posts>,
    next: Arc<AtomicUsize>,
    pace: Pace,
    began: Instant,
) -> (Vec<Ack>, BTreeMap<u16, usize>) {
    let (mut acks, mut refused) = (Vec::new(), BTreeMap::new());
    loop {
        if let Pace::AsConsumable(in_flight) = &pace
            && !in_flight.take().await
        {
            return (acks, refused);
        }
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some((request, lane)) = posts.get(index) else {
            return (acks, refused);
        };
        let due = match &pace {
            Pace::AsAnswered | Pace::AsConsumable(_) => Instant::now(),
            Pace::PerSecond(rate) => {
                let seconds = u32::try_from(index).map_or(0.0, f64::from);
                let due = began + Duration::from_secs_f64(seconds / f64::from(rate.get()));
                tokio::time::sleep_until(due.into()).await;
                due
            }
        };
        let status = wire.exchange(request).await.unwrap_or(0);
        let at = Instant::now();
        match status {
            200 => acks.push(Ack {
                lane,
                at,
                took: at.saturating_duration_since(due),
            }),
            other => {
                *refused.entry(other).or_default() += 1;
                // Most often no code will free its place.
                if let Pace::AsConsumable(in_flight) = &pace {
                    in_flight.places.add_permits(1);
                }
            }
        }
    }
}

async fn show(next: Arc<AtomicUsize>, total: usize) {
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        progress::show(next.load(Ordering::Relaxed).min(total), total, "posts");
    }
}
