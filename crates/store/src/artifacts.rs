//! The third layer of deduplication: inserts artifacts whose keys are new, at the next
//! positions of their inbox.

mod many;

use std::collections::BTreeMap;

use pipeline::{Finished, NewArtifact, NewMessage, Reason};

use crate::backend::{Backend, Connection, Sql, query};
use crate::binding::{self, Arrival, Binding};
use crate::column::Moment;
use crate::fault::Fault;
use crate::misses;
use crate::seal::{Sealed, SealedMessage};
use crate::stored::millis;

/// A new message.
pub(crate) struct Arrived<'c> {
    pub(crate) sealed: &'c SealedMessage,
    pub(crate) received_at: Moment,
    /// The index of its delivery among those that are completed together.
    pub(crate) index: usize,
}

/// The new messages of one inbox, and the last position that is taken in it.
struct InboxArrivals<'n, 'c> {
    inbox: &'c str,
    new: &'n [Arrived<'c>],
    last_seq: i64,
}

impl InboxArrivals<'_, '_> {
    /// Whether an artifact matches an attempt. Each such artifact may change which attempt
    /// gets the next one, so they are inserted one after the other.
    fn needs_binding(&self) -> bool {
        let artifacts = self.new.iter().flat_map(|it| &it.sealed.message.artifacts);
        artifacts.into_iter().any(|it| !it.matches.is_empty())
    }

    /// Whether a message gives some attempt nothing. Its watchers must learn that, too.
    fn has_misses(&self) -> bool {
        self.new
            .iter()
            .any(|it| !it.sealed.message.misses.is_empty())
    }
}

/// Inserts the artifacts of new messages, which are sorted by inbox. Returns the last
/// position of each inbox whose watchers must be notified.
pub(crate) async fn insert<'c, B: Backend>(
    connection: &mut Connection<B>,
    new: &[Arrived<'c>],
    taken: &BTreeMap<String, i64>,
    finished: &mut [Finished],
) -> Result<BTreeMap<&'c str, i64>, Fault> {
    let mut changed = BTreeMap::new();
    let mut unbound = Vec::new();
    let inbox_of = |it: &Arrived<'c>| it.sealed.message.inbox.as_str();
    for new in new.chunk_by(|one, other| inbox_of(one) == inbox_of(other)) {
        let Some(inbox) = new.first().map(inbox_of) else {
            continue;
        };
        let last_seq = *taken.get(inbox).ok_or(Fault::Conflict)?;
        let arrivals = InboxArrivals {
            inbox,
            new,
            last_seq,
        };
        if arrivals.has_misses() {
            changed.insert(inbox, last_seq);
        }
        if arrivals.needs_binding() {
            let last = one_by_one::<B>(connection, &arrivals, finished).await?;
            changed.extend(last.map(|last| (inbox, last)));
        } else {
            unbound.push(arrivals);
        }
    }
    changed.extend(many::insert::<B>(connection, &unbound, finished).await?);
    for arrived in new {
        for miss in &arrived.sealed.message.misses {
            misses::note::<B>(connection, miss, arrived.received_at).await?;
        }
    }
    Ok(changed)
}

/// Inserts the artifacts of an inbox one after the other. Returns the last position that
/// is taken now; `None` if no watcher must be notified.
async fn one_by_one<B: Backend>(
    connection: &mut Connection<B>,
    arrivals: &InboxArrivals<'_, '_>,
    finished: &mut [Finished],
) -> Result<Option<i64>, Fault> {
    let (mut seq, mut wakes) = (arrivals.last_seq, false);
    for arrived in arrivals.new {
        let SealedMessage {
            message, values, ..
        } = arrived.sealed;
        let arrival = Arrival {
            inbox: arrivals.inbox,
            received_at: arrived.received_at,
            is_proven: message.sender.proof.holds(),
        };
        for (artifact, value) in message.artifacts.iter().zip(values) {
            let binding = binding::choose::<B>(connection, artifact, &arrival).await?;
            let fields = RowFields {
                message,
                value: value.as_ref(),
                received_at: arrived.received_at,
                seq: seq + 1,
            };
            let is_new = insert_one::<B>(connection, artifact, &fields, &binding).await?;
            wakes |= is_new || matches!(binding, Binding::Known(_));
            seq += i64::from(is_new);
            count(finished, arrived.index, is_new);
        }
    }
    Ok(wakes.then_some(seq))
}

fn count(finished: &mut [Finished], index: usize, is_new: bool) {
    if let Some(finished) = finished.get_mut(index) {
        finished.artifacts += u32::from(is_new);
        finished.duplicate_artifacts += u32::from(!is_new);
    }
}

/// The fields of a new artifact's row that the artifact itself does not have.
struct RowFields<'m> {
    message: &'m NewMessage,
    value: Option<&'m Sealed>,
    received_at: Moment,
    seq: i64,
}

/// Inserts an artifact unless its key is known; returns whether it did.
async fn insert_one<B: Backend>(
    connection: &mut Connection<B>,
    artifact: &NewArtifact,
    fields: &RowFields<'_>,
    binding: &Binding,
) -> Result<bool, Fault> {
    let (key, attempt) = match binding {
        Binding::Known(known) => {
            let (message, at) = (fields.message.id.as_uuid(), fields.received_at);
            binding::renew::<B>(connection, known, message, at, artifact.lifetime).await?;
            return Ok(false);
        }
        Binding::Inbox(_) if artifact.needs_attempt => return Ok(false),
        Binding::Inbox(key) => (key, None),
        Binding::Attempt(bound) => (&bound.key, Some(bound.attempt)),
    };
    let written = query::<B>(Sql {
        postgres: "INSERT INTO artifacts
                 (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
                  confidence, host, value, value_key, expires_at, attempt_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
                     $14 + $15 * interval '1 millisecond', $16)
             ON CONFLICT (artifact_key) DO NOTHING",
        sqlite: "INSERT INTO artifacts
                 (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
                  confidence, host, value, value_key, expires_at, attempt_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 + $15, $16)
             ON CONFLICT (artifact_key) DO NOTHING",
    })
    .bind(artifact.id.as_uuid())
    .bind(fields.message.id.as_uuid())
    .bind(fields.message.inbox.as_str())
    .bind(fields.seq)
    .bind(key.as_bytes().as_slice())
    .bind(artifact.kind.as_str())
    .bind(artifact.verdict.as_str())
    .bind(artifact.verdict.reason().map(Reason::as_str))
    .bind(artifact.rule.as_str())
    .bind(i16::from(artifact.confidence))
    .bind(artifact.host.as_deref())
    .bind(fields.value.map(|sealed| sealed.bytes.as_slice()))
    .bind(fields.value.map(|sealed| sealed.key.as_str()))
    .bind(fields.received_at)
    .bind(millis(artifact.lifetime))
    .bind(attempt)
    .execute(connection)
    .await?;
    let is_new = written == 1;
    if let (true, Binding::Attempt(bound)) = (is_new, binding) {
        binding::settle::<B>(connection, artifact.id.as_uuid(), bound).await?;
    }
    Ok(is_new)
}
