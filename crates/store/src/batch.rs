//! The bookkeeping of one batch of deliveries: which ones are duplicates, which ones
//! still need a row, and under which key. The database decides; this only remembers.

use std::collections::HashMap;

use pipeline::{ContentDigest, DeliveryId, DeliveryKey, NewDelivery, OnConflict, Recorded};

use crate::fault::Fault;
use crate::seal::{KeyId, Row};
use crate::settings::Secrets;

/// A delivery that still needs an answer, and the key it tries to take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unrecorded {
    /// Its index in the batch.
    index: usize,
    /// The key to take: its own, or the one for conflicts.
    pub(crate) key: DeliveryKey,
    /// The row that had taken its own key with other content.
    pub(crate) conflict_of: Option<DeliveryId>,
}

/// The row that already has a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) id: DeliveryId,
    pub(crate) content: [u8; 32],
}

/// A batch that is being recorded, and the answers so far.
#[derive(Debug)]
pub(crate) struct Batch {
    deliveries: Vec<NewDelivery>,
    /// What the bodies are sealed under.
    pub(crate) body_key: KeyId,
    /// For a delivery that repeats an earlier one of the batch: the index of that one.
    repeats: Vec<Option<usize>>,
    answers: Vec<Option<Recorded>>,
    unrecorded: Vec<Unrecorded>,
}

impl Batch {
    /// Keys the deliveries with the server's secret, finds those that repeat an earlier
    /// one, and seals the bodies of the others.
    pub(crate) fn new(mut deliveries: Vec<NewDelivery>, secrets: &Secrets) -> Result<Self, Fault> {
        let key = secrets.keyring.sealing();
        let mut first: HashMap<(DeliveryKey, ContentDigest), usize> = HashMap::new();
        let mut repeats = Vec::with_capacity(deliveries.len());
        let mut unrecorded = Vec::with_capacity(deliveries.len());
        for (index, delivery) in deliveries.iter_mut().enumerate() {
            delivery.key = delivery.key.keyed_with(&secrets.server_key);
            delivery.content = delivery.content.keyed_with(&secrets.server_key);
            let known = first.get(&(delivery.key, delivery.content)).copied();
            repeats.push(known);
            if known.is_none() {
                let row = Row::delivery(delivery.id, delivery.source.as_str());
                delivery.body = key.seal(row, &delivery.body)?.bytes;
                first.insert((delivery.key, delivery.content), index);
                unrecorded.push(Unrecorded {
                    index,
                    key: delivery.key,
                    conflict_of: None,
                });
            }
        }
        let answers = vec![None; deliveries.len()];
        Ok(Self {
            deliveries,
            body_key: key.id().clone(),
            repeats,
            answers,
            unrecorded,
        })
    }

    /// Takes those that still need a row, ordered by key: two committers that
    /// insert the same keys in the same order wait for each other and cannot
    /// deadlock.
    pub(crate) fn take_unrecorded(&mut self) -> Vec<Unrecorded> {
        let mut unrecorded = std::mem::take(&mut self.unrecorded);
        unrecorded.sort_by_key(|candidate| (candidate.key, candidate.index));
        unrecorded
    }

    /// How many bytes its bodies have.
    pub(crate) fn bytes(&self) -> usize {
        self.deliveries.iter().map(|one| one.body.len()).sum()
    }

    /// Whether every delivery has an answer.
    pub(crate) fn is_settled(&self) -> bool {
        self.unrecorded.is_empty()
    }

    /// The delivery behind a candidate.
    pub(crate) fn delivery(&self, candidate: &Unrecorded) -> Result<&NewDelivery, Fault> {
        self.deliveries
            .get(candidate.index)
            .ok_or(Fault::Damaged("batch"))
    }

    /// Its row was inserted.
    pub(crate) fn inserted(&mut self, candidate: Unrecorded) -> Result<(), Fault> {
        let id = self.delivery(&candidate)?.id;
        let answer = match candidate.conflict_of {
            None => Recorded::New(id),
            Some(_) => Recorded::Conflict(id),
        };
        self.answer(candidate, answer)
    }

    /// Its key was taken, by `holder` as a later statement saw it.
    pub(crate) fn key_taken(
        &mut self,
        candidate: Unrecorded,
        holder: Option<Known>,
    ) -> Result<(), Fault> {
        let delivery = self.delivery(&candidate)?;
        match holder {
            // The holder has gone again; the key may be free now.
            None => self.unrecorded.push(candidate),
            Some(holder) if holder.content == *delivery.content.as_bytes() => {
                self.answer(candidate, Recorded::Duplicate(holder.id))?;
            }
            Some(holder) if delivery.on_conflict == OnConflict::Refuse => {
                self.answer(candidate, Recorded::Refused(holder.id))?;
            }
            Some(holder) if candidate.conflict_of.is_none() => self.unrecorded.push(Unrecorded {
                key: delivery.key.conflicting(&delivery.content),
                conflict_of: Some(holder.id),
                ..candidate
            }),
            // The conflict key is made of the content, so its holder has that content.
            Some(_) => return Err(Fault::Damaged("content_digest")),
        }
        Ok(())
    }

    /// The answers, in the order of the deliveries.
    pub(crate) fn into_answers(self) -> Result<Vec<Recorded>, Fault> {
        let Self {
            repeats, answers, ..
        } = self;
        let answer_at = |index: usize| {
            let answer = answers.get(index).copied().flatten();
            answer.ok_or(Fault::Conflict)
        };
        repeats
            .iter()
            .enumerate()
            .map(|(index, repeated)| match repeated {
                None => answer_at(index),
                Some(first) => answer_at(*first).map(Recorded::of_repeat),
            })
            .collect()
    }

    fn answer(&mut self, candidate: Unrecorded, answer: Recorded) -> Result<(), Fault> {
        let slot = self.answers.get_mut(candidate.index);
        *slot.ok_or(Fault::Damaged("batch"))? = Some(answer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pipeline::ServerKey;

    use super::*;
    use crate::seal::SealKey;

    fn batch(deliveries: Vec<NewDelivery>) -> Batch {
        let secrets = Secrets {
            keyring: SealKey::new([7; 32]).into(),
            server_key: ServerKey::new([7; 32]),
        };
        Batch::new(deliveries, &secrets).unwrap()
    }

    fn delivery(id: &str, body: &str) -> NewDelivery {
        let source = "test".parse().unwrap();
        NewDelivery {
            id: DeliveryId::new(),
            key: DeliveryKey::from_provider_id(&source, id),
            source,
            content: ContentDigest::of(&[body.as_bytes()]),
            content_type: "application/json".to_owned(),
            body: body.into(),
            on_conflict: OnConflict::Keep,
        }
    }

    #[test]
    fn stored_keys_and_digests_are_keyed_and_bodies_are_sealed() {
        let new = delivery("a", "Your code is 493817");
        let (key, content) = (new.key, new.content);
        let batch = batch(vec![new]);
        let kept = &batch.deliveries[0];
        assert_ne!(kept.key, key);
        assert_ne!(kept.content, content);
        assert!(!kept.body.windows(6).any(|six| six == b"493817"));
    }

    #[test]
    fn repeated_delivery_of_a_batch_is_a_duplicate_of_the_first() {
        let mut batch = batch(vec![
            delivery("b", "1"),
            delivery("a", "1"),
            delivery("b", "1"),
        ]);
        let first = batch.deliveries[0].id;
        let second = batch.deliveries[1].id;
        let open = batch.take_unrecorded();
        assert_eq!(open.len(), 2);
        assert!(open[0].key < open[1].key);
        for candidate in open {
            batch.inserted(candidate).unwrap();
        }
        assert!(batch.is_settled());
        assert_eq!(
            batch.into_answers().unwrap(),
            [
                Recorded::New(first),
                Recorded::New(second),
                Recorded::Duplicate(first)
            ]
        );
    }

    #[test]
    fn delivery_whose_key_is_free_again_tries_the_same_key() {
        let mut batch = batch(vec![delivery("a", "1")]);
        let candidate = batch.take_unrecorded()[0];
        batch.key_taken(candidate, None).unwrap();
        assert_eq!(batch.take_unrecorded()[0].key, candidate.key);
    }

    #[test]
    fn a_delivery_whose_key_has_other_content_takes_its_conflict_key() {
        let mut batch = batch(vec![delivery("a", "1")]);
        let candidate = batch.take_unrecorded()[0];
        let holder = Known {
            id: DeliveryId::new(),
            content: [0; 32],
        };
        batch.key_taken(candidate, Some(holder)).unwrap();
        let again = batch.take_unrecorded()[0];
        assert_ne!(again.key, candidate.key);
        assert_eq!(again.conflict_of, Some(holder.id));
        assert!(batch.key_taken(again, Some(holder)).is_err());
    }
}
