//! Agents that wait for the codes: one for each inbox, so that a new item can be
//! matched with its post by their order.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use pipeline::InboxId;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::command::progress;
use client::{CallError, Client, Kind};

use super::drive::Driven;

/// Each agent holds one long poll, and a server allows some hundreds of them.
const MOST_LANES: usize = 128;
/// The share of a rate that one inbox gets: mails of an inbox are then further apart
/// than a code needs to arrive, and the order of items is the order of posts.
const PER_LANE: u32 = 5;
const WAIT: Duration = Duration::from_secs(20);
/// The pause after an answer that asks for fewer requests.
const BUSY_PAUSE: Duration = Duration::from_millis(500);

/// Over how many inboxes the mails are spread.
pub(super) fn lane_count(mails: usize, rate: Option<NonZeroU32>) -> usize {
    let wanted = match rate {
        Some(rate) => rate.get().div_ceil(PER_LANE) as usize,
        None => 16,
    };
    wanted.clamp(1, MOST_LANES).min(mails)
}

/// One new item of an inbox.
struct Sighting {
    lane: usize,
    at: Instant,
}

/// Where an agent reports what it has found.
struct Found {
    lane: usize,
    sightings: mpsc::UnboundedSender<Sighting>,
    places: Arc<Semaphore>,
}

impl Found {
    fn report(&self, at: Instant) {
        let lane = self.lane;
        let _ = self.sightings.send(Sighting { lane, at });
        self.places.add_permits(1);
    }
}

/// The waiting agents.
pub(super) struct Lanes {
    agents: JoinSet<Result<(), CallError>>,
    sightings: mpsc::UnboundedReceiver<Sighting>,
    count: usize,
}

/// When the codes became consumable.
#[derive(Debug)]
pub(super) struct Seen {
    /// From the answer to the post until the agent had the item.
    pub(super) took: Vec<Duration>,
    /// From the first answer until the last item.
    pub(super) until_last: Duration,
    /// The error that ended an agent.
    pub(super) error: Option<CallError>,
}

impl Lanes {
    /// Starts one agent for each inbox. Each code frees a place of a mail in flight.
    pub(super) async fn open(
        client: Client,
        inboxes: &[InboxId],
        places: &Arc<Semaphore>,
    ) -> Result<Self> {
        let first = inboxes.first().context("a run has an inbox")?;
        let listed = client.list(first, None, Duration::ZERO).await;
        listed.with_context(|| {
            format!("failed to read the inbox {first}; use --acks-only to measure posts alone")
        })?;
        let (found, sightings) = mpsc::unbounded_channel();
        let mut agents = JoinSet::new();
        for (lane, inbox) in inboxes.iter().enumerate() {
            let found = Found {
                lane,
                sightings: found.clone(),
                places: Arc::clone(places),
            };
            agents.spawn(agent(client.clone(), inbox.clone(), found));
        }
        Ok(Self {
            agents,
            sightings,
            count: inboxes.len(),
        })
    }

    /// Waits until every accepted mail has its item, or none has come for a while.
    pub(super) async fn finish(mut self, driven: &Driven, patience: Duration) -> Seen {
        let mut seen = vec![Vec::new(); self.count];
        let (mut count, mut last) = (0, None);
        while count < driven.mails {
            let Ok(Some(sighting)) = timeout(patience, self.sightings.recv()).await else {
                break;
            };
            count += 1;
            last = Some(sighting.at);
            if let Some(lane) = seen.get_mut(sighting.lane) {
                lane.push(sighting.at);
            }
            progress::show(count, driven.mails, "codes");
        }
        self.agents.abort_all();
        let mut error = None;
        while let Some(ended) = self.agents.join_next().await {
            if let Ok(Err(why)) = ended {
                error = Some(why);
            }
        }
        let first = driven.acks.iter().map(|ack| ack.at).min();
        let until_last = last.zip(first).map(|(last, first)| last - first);
        Seen {
            took: matched(driven, &seen),
            until_last: until_last.unwrap_or_default(),
            error,
        }
    }
}

/// Matches the items of each inbox with its posts, in order.
fn matched(driven: &Driven, seen: &[Vec<Instant>]) -> Vec<Duration> {
    let mut acked = vec![Vec::new(); seen.len()];
    for ack in &driven.acks {
        if let Some(lane) = acked.get_mut(ack.lane) {
            lane.push(ack.at);
        }
    }
    let mut took = Vec::with_capacity(driven.acks.len());
    for (acked, seen) in acked.iter_mut().zip(seen) {
        acked.sort_unstable();
        // An item can be there before the answer to its post has arrived here.
        let pairs = seen.iter().zip(acked.iter());
        took.extend(pairs.map(|(seen, acked)| seen.saturating_duration_since(*acked)));
    }
    took
}

/// Waits for the items of an inbox, for ever.
async fn agent(client: Client, inbox: InboxId, found: Found) -> Result<(), CallError> {
    let mut cursor: Option<String> = None;
    loop {
        match client.list(&inbox, cursor.as_deref(), WAIT).await {
            Ok(page) => {
                let at = Instant::now();
                for _ in page.items.iter().filter(|item| item.kind == Kind::Code) {
                    found.report(at);
                }
                cursor = Some(page.next_cursor);
            }
            Err(error) if error.is_transient() => tokio::time::sleep(BUSY_PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}
