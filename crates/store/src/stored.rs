//! From the values of a row to the types of the pipeline, and back. A value that this
//! code never writes is reported as damage.

use std::time::Duration;

use pipeline::{
    ArtifactId, ArtifactKind, ArtifactView, AttemptId, InboxId, MessageId, Reason, SenderProof,
    Seq, SourceName, Verdict,
};
use uuid::Uuid;

use crate::backend::row;
use crate::column::Moment;
use crate::fault::Fault;
use crate::seal::OVERHEAD;

/// A duration in milliseconds, as both databases add it to their clock. It is at most
/// a hundred years, so that no sum leaves the range of a time.
pub(crate) fn millis(span: Duration) -> i64 {
    const CENTURY: i64 = 100 * 365 * 24 * 60 * 60 * 1000;
    i64::try_from(span.as_millis()).map_or(CENTURY, |millis| millis.min(CENTURY))
}

/// A duration that a database has measured; zero if its clock was set back.
pub(crate) fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// A count that a database has made.
pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The size of a body, from that of the sealed one.
pub(crate) fn body_bytes(sealed: i64) -> u64 {
    count(sealed).saturating_sub(OVERHEAD)
}

/// What a consume request names. The same idempotency key for the other kind is another
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsumeTarget {
    /// An attempt: its newest artifact.
    Attempt,
    /// An item of the feed.
    Artifact,
}

impl ConsumeTarget {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Artifact => "artifact",
        }
    }
}

/// A number of attempts.
pub(crate) fn attempts(number: i32) -> Result<u32, Fault> {
    u32::try_from(number).or(Err(Fault::Damaged("attempts")))
}

/// A digest of a delivery's content.
pub(crate) fn content_digest(bytes: &[u8]) -> Result<[u8; 32], Fault> {
    bytes.try_into().or(Err(Fault::Damaged("content_digest")))
}

/// The name of a source.
pub(crate) fn source(name: &str) -> Result<SourceName, Fault> {
    name.parse().or(Err(Fault::Damaged("source")))
}

/// The address of an inbox.
pub(crate) fn inbox(address: &str) -> Result<InboxId, Fault> {
    address.parse().or(Err(Fault::Damaged("inbox")))
}

/// A verdict and its reason.
pub(crate) fn verdict(word: &str, reason: Option<&str>) -> Result<Verdict, Fault> {
    Verdict::from_words(word, reason.map(Reason::from_stored)).ok_or(Fault::Damaged("verdict"))
}

/// Words as one column holds them: flags, domains and hosts hold no space.
pub(crate) fn joined(words: &[String]) -> String {
    words.join(" ")
}

/// The words behind such a column.
pub(crate) fn split(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

row! {
    /// An artifact, the message it came in and its consume: a row of the view `items`.
    pub(crate) struct Item {
        id: Uuid,
        pub(crate) inbox: String,
        seq: i64,
        kind: String,
        verdict: String,
        reason: Option<String>,
        rule: String,
        confidence: i16,
        host: Option<String>,
        message_id: Uuid,
        sender: Option<String>,
        sender_domain: Option<String>,
        sender_proof: String,
        flags: String,
        received_at: Moment,
        expires_at: Moment,
        is_expired: bool,
        consumed_at: Option<Moment>,
        attempt_id: Option<Uuid>,
        is_superseded: bool,
    }
}

/// The columns of an [`Item`]. No statement selects `*`.
macro_rules! item_columns {
    () => {
        "id, inbox, seq, kind, verdict, reason, rule, confidence, host, message_id, sender, \
         sender_domain, sender_proof, flags, received_at, expires_at, is_expired, consumed_at, \
         attempt_id, is_superseded"
    };
}

pub(crate) use item_columns;

impl TryFrom<Item> for ArtifactView {
    type Error = Fault;

    fn try_from(item: Item) -> Result<Self, Fault> {
        Ok(Self {
            id: ArtifactId::from_uuid(item.id),
            inbox: inbox(&item.inbox)?,
            seq: Seq::new(item.seq),
            kind: ArtifactKind::from_word(&item.kind).ok_or(Fault::Damaged("kind"))?,
            verdict: verdict(&item.verdict, item.reason.as_deref())?,
            rule: Reason::from_stored(&item.rule),
            confidence: u8::try_from(item.confidence).or(Err(Fault::Damaged("confidence")))?,
            host: item.host,
            message: MessageId::from_uuid(item.message_id),
            sender: item.sender,
            sender_domain: item.sender_domain,
            sender_proof: SenderProof::from_stored(&item.sender_proof),
            flags: split(&item.flags),
            received_at: item.received_at.into(),
            expires_at: item.expires_at.into(),
            is_expired: item.is_expired,
            consumed_at: item.consumed_at.map(Into::into),
            attempt: item.attempt_id.map(AttemptId::from_uuid),
            is_superseded: item.is_superseded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_duration_is_a_century() {
        assert_eq!(millis(Duration::from_millis(1500)), 1500);
        assert_eq!(millis(Duration::MAX), 3_153_600_000_000);
    }

    #[test]
    fn an_unknown_verdict_is_damage() {
        assert!(verdict("usable", None).is_ok());
        assert!(verdict("usable", Some("too_deep")).is_err());
        assert!(verdict("maybe", None).is_err());
    }
}
