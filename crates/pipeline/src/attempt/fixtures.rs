//! An item for the tests of attempts.

use crate::{
    ArtifactId, ArtifactKind, ArtifactView, MessageId, Reason, SenderProof, Seq, Timestamp, Verdict,
};

/// A usable code that was received this many seconds after the epoch.
pub(super) fn usable_code(second: i64) -> ArtifactView {
    let at = |second: i64| Timestamp::from_millis(second * 1000);
    ArtifactView {
        id: ArtifactId::new(),
        inbox: "agent@inbox.test".parse().unwrap(),
        seq: Seq::new(second),
        kind: ArtifactKind::Code,
        verdict: Verdict::Usable,
        rule: Reason::new("labelled_digits"),
        confidence: 97,
        host: None,
        message: MessageId::new(),
        sender: None,
        sender_domain: None,
        sender_proof: SenderProof::default(),
        flags: Vec::new(),
        received_at: at(second),
        expires_at: at(900),
        is_expired: false,
        consumed_at: None,
        attempt: None,
        is_superseded: false,
    }
}
