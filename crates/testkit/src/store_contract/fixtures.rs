//! Deliveries, mails and artifacts for the tests.

use std::fmt::Debug;
use std::time::Duration;

use pipeline::{
    ArtifactId, ArtifactKey, ArtifactKind, ArtifactView, AttemptId, Claim, Claimed, Completed,
    ConsumeRequest, Consumed, ContentDigest, DeliveryId, DeliveryKey, Finished, InboxId, MessageId,
    MessageKey, NewArtifact, NewDelivery, NewMessage, OnConflict, Processed, Reason, Recorded,
    ResendRequest, Scope, Sender, Seq, ServerKey, SourceName, StoreError, StoredDelivery, Verdict,
};

use super::Seams;

/// Longer than any test takes.
pub const LONG: Duration = Duration::from_hours(1);

/// The value of a result. Fails the test with the error.
#[track_caller]
pub fn must<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error:?}"),
    }
}

/// Asks until the database answers. On a busy machine many requests at once may wait for a
/// connection or a lock for too long. An agent asks again then, with the same key, and so does
/// this. The second result says how often it asked.
pub async fn answered<T, F>(mut ask: impl FnMut() -> F) -> (T, usize)
where
    F: Future<Output = Result<T, StoreError>>,
{
    const MOST: usize = 20;
    for asked in 1..MOST {
        match ask().await {
            Err(StoreError::Unavailable(_)) => {}
            answer => return (must(answer), asked),
        }
    }
    (must(ask().await), MOST)
}

/// The server key in every test.
pub fn server_key() -> ServerKey {
    ServerKey::new([7; 32])
}

/// The address of an inbox with this name.
#[track_caller]
pub fn inbox(name: &str) -> InboxId {
    must(format!("{name}@inbox.test").parse())
}

/// The source that every delivery here comes from.
#[track_caller]
pub fn source() -> SourceName {
    must("contract".parse())
}

/// A delivery with the provider's id and a body.
pub fn delivery(id: &str, body: &[u8]) -> NewDelivery {
    let source = source();
    NewDelivery {
        id: DeliveryId::new(),
        key: DeliveryKey::from_provider_id(&source, id),
        source,
        content: ContentDigest::of(&[body]),
        content_type: "application/json".to_owned(),
        body: body.to_vec(),
        on_conflict: OnConflict::Keep,
    }
}

/// A usable code. The same value in the same inbox is the same artifact.
pub fn code(inbox: &InboxId, value: &str) -> NewArtifact {
    code_in_window(inbox, value, 0)
}

/// A usable code in this deduplication window.
pub fn code_in_window(inbox: &InboxId, value: &str, window: u64) -> NewArtifact {
    let kind = ArtifactKind::Code;
    NewArtifact {
        id: ArtifactId::new(),
        key: ArtifactKey::for_value(&server_key(), inbox, kind, value, window),
        kind,
        verdict: Verdict::Usable,
        value: Some(value.into()),
        rule: Reason::new("code.labelled"),
        confidence: 90,
        host: None,
        lifetime: LONG,
        matches: Vec::new(),
        needs_attempt: false,
    }
}

/// A withheld or empty item.
pub fn valueless(inbox: &InboxId, kind: ArtifactKind, verdict: Verdict) -> NewArtifact {
    let id = ArtifactId::new();
    let message = id.as_uuid().into_bytes();
    NewArtifact {
        id,
        key: ArtifactKey::for_message(&server_key(), &message, kind),
        kind,
        verdict,
        value: None,
        ..code(inbox, "")
    }
}

/// A mail with this `Message-ID`.
pub fn mail(inbox: &InboxId, message_id: &str, artifacts: Vec<NewArtifact>) -> NewMessage {
    NewMessage {
        id: MessageId::new(),
        inbox: inbox.clone(),
        key: MessageKey::new(&server_key(), inbox, Some(message_id), &[0; 32]),
        provider_key: None,
        sender: Sender {
            address: Some("no-reply@shop.test".to_owned()),
            domain: Some("shop.test".to_owned()),
            proof: pipeline::SenderProof::Dkim,
        },
        flags: vec!["idn".to_owned(), "from_ambiguous".to_owned()],
        received_at: None,
        artifacts,
        misses: Vec::new(),
        handling: pipeline::Handling::default(),
    }
}

/// The outcome of processing a delivery with these mails.
pub fn held(messages: Vec<NewMessage>) -> Processed {
    Processed {
        messages,
        ignored: None,
    }
}

impl Seams {
    /// Records one delivery.
    pub async fn record(&self, delivery: NewDelivery) -> Recorded {
        let answers = must(self.deliveries.record(vec![delivery]).await);
        match answers.as_slice() {
            [answer] => *answer,
            other => panic!("one delivery, answers {other:?}"),
        }
    }

    /// Records a delivery that is new.
    pub async fn new_delivery(&self, id: &str) -> DeliveryId {
        match self.record(delivery(id, id.as_bytes())).await {
            Recorded::New(id) => id,
            other => panic!("expected a new delivery, got {other:?}"),
        }
    }

    /// Claims a delivery that can be claimed.
    pub async fn claim(&self, delivery: DeliveryId, lease: Duration) -> (Claim, StoredDelivery) {
        match must(self.work.claim(delivery, lease).await) {
            Claimed::Yours(claim, stored) => (claim, stored),
            other => panic!("expected a claim, got {other:?}"),
        }
    }

    /// Completes a claim that is still valid.
    pub async fn complete(&self, claim: Claim, processed: Processed) -> Finished {
        match must(self.work.complete(claim, processed).await) {
            Completed::Done(finished) => finished,
            Completed::Lost => panic!("the claim was lost"),
        }
    }

    /// Records, claims and completes a delivery with these mails.
    pub async fn process(&self, id: &str, messages: Vec<NewMessage>) -> Finished {
        let delivery = self.new_delivery(id).await;
        let (claim, _) = self.claim(delivery, LONG).await;
        self.complete(claim, held(messages)).await
    }

    /// Adds one artifact to an inbox and returns its id.
    pub async fn bring(&self, inbox: &InboxId, id: &str, artifact: NewArtifact) -> ArtifactId {
        let artifact_id = artifact.id;
        let finished = self
            .process(id, vec![mail(inbox, id, vec![artifact])])
            .await;
        assert_eq!(finished.artifacts, 1, "{id} brought nothing new");
        artifact_id
    }

    /// Everything in an inbox.
    pub async fn items(&self, inbox: &InboxId) -> Vec<ArtifactView> {
        must(self.agents.artifacts(inbox, Seq::START, 1000).await)
    }

    /// Sends a consume request.
    pub async fn consume(&self, request: &ConsumeRequest) -> Consumed {
        must(self.agents.consume(request).await)
    }
}

/// A consume request with full scope and a long replay window.
#[track_caller]
pub fn request(artifact: ArtifactId, consumer: &str, key: &str) -> ConsumeRequest {
    ConsumeRequest {
        artifact,
        consumer: must(consumer.parse()),
        scope: Scope::All,
        idempotency_key: must(key.parse()),
        replay_window: LONG,
    }
}

/// A resend request.
#[track_caller]
pub fn resend(attempt: AttemptId, consumer: &str, key: &str) -> ResendRequest {
    ResendRequest {
        attempt,
        consumer: must(consumer.parse()),
        scope: Scope::All,
        idempotency_key: must(key.parse()),
    }
}

/// The positions of items, in their order.
pub fn positions(items: &[ArtifactView]) -> Vec<i64> {
    items.iter().map(|item| item.seq.number()).collect()
}
