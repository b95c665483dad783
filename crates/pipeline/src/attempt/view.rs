//! How an attempt stands.

use std::time::Duration;

use super::{AttemptOutcome, GIVEN_TO_ANOTHER_ATTEMPT, MissKind, AttemptRules};
use crate::{ArtifactView, AttemptId, CallbackState, InboxId, Reason, Timestamp, Verdict};

/// All that is known of an attempt, without the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptView {
    /// Its row.
    pub id: AttemptId,
    /// Where mail for it is awaited.
    pub inbox: InboxId,
    /// Which mail counts.
    pub rules: AttemptRules,
    /// The configured callback that consumes in the agent's place.
    pub callback: Option<String>,
    /// How far the value is on its way there, once there is one.
    pub callback_state: Option<CallbackState>,
    /// From when on mail counts, by the database's clock.
    pub opened_at: Timestamp,
    /// Until when it is awaited.
    pub deadline: Timestamp,
    /// How long mail can still come: nothing when the deadline has passed, or when
    /// the inbox takes none.
    pub remaining: Duration,
    /// Whether the deadline has passed.
    pub is_over: bool,
    /// Whether its inbox takes no mail any more.
    pub inbox_has_ended: bool,
    /// How often its sender may still be asked for another mail.
    pub resends_left: u32,
    /// When its sender was last asked for another mail.
    pub resent_at: Option<Timestamp>,
    /// How the agent said it ended.
    pub outcome: Option<AttemptOutcome>,
    /// The newest artifact that is this attempt's.
    pub current: Option<ArtifactView>,
    /// Whether an artifact of this attempt was consumed.
    pub has_consumed: bool,
    /// What the last mail that was of no use was like.
    pub miss: Option<(MissKind, Reason)>,
}

/// How an attempt stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptStatus {
    /// Nothing has come yet.
    Pending,
    /// An artifact is there to be consumed.
    Ready,
    /// Its artifact was consumed.
    Consumed,
    /// One was consumed and a newer one has come, which can be consumed too.
    Superseded,
    /// Mail came, and this rule keeps it back.
    Blocked(Reason),
    /// Mail came, and nothing safe was in it, for this reason.
    NoArtifact(Reason),
    /// The deadline has passed without any mail.
    NothingArrived,
    /// An artifact came and its time is over, or the deadline has passed; or no mail
    /// can come, for the attempt was finished or its inbox has ended.
    Expired,
}

impl AttemptView {
    /// How it stands, by the newest that came.
    pub fn status(&self) -> AttemptStatus {
        if let Some(current) = &self.current {
            return match &current.verdict {
                _ if self.awaits_another(current) => AttemptStatus::Pending,
                _ if current.consumed_at.is_some() => AttemptStatus::Consumed,
                _ if current.is_expired || self.is_over || self.outcome.is_some() => {
                    AttemptStatus::Expired
                }
                Verdict::Withheld(reason) | Verdict::Abstained(reason) => {
                    AttemptStatus::Blocked(reason.clone())
                }
                Verdict::Usable if self.has_consumed => AttemptStatus::Superseded,
                Verdict::Usable => AttemptStatus::Ready,
            };
        }
        match &self.miss {
            // Its own may still come.
            Some((_, reason)) if *reason == GIVEN_TO_ANOTHER_ATTEMPT && self.may_change() => AttemptStatus::Pending,
            Some((MissKind::Blocked, reason)) => AttemptStatus::Blocked(reason.clone()),
            Some((MissKind::NoArtifact, reason)) => AttemptStatus::NoArtifact(reason.clone()),
            None if self.is_over => AttemptStatus::NothingArrived,
            None if self.may_change() => AttemptStatus::Pending,
            None => AttemptStatus::Expired,
        }
    }

    /// Whether its sender was asked for another mail after this one was used up.
    fn awaits_another(&self, current: &ArtifactView) -> bool {
        let was_asked = self.resent_at.zip(current.consumed_at);
        self.may_change() && was_asked.is_some_and(|(resent, consumed)| resent >= consumed)
    }

    /// Whether waiting may still change how it stands.
    pub fn may_change(&self) -> bool {
        !self.is_over && self.outcome.is_none() && !self.inbox_has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArtifactId, ArtifactKind, MessageId, Seq, Wanted};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    fn attempt() -> AttemptView {
        AttemptView {
            id: AttemptId::new(),
            inbox: "agent@inbox.test".parse().unwrap(),
            rules: AttemptRules {
                wanted: Wanted::Code,
                senders: Vec::new(),
                needs_proof: false,
                links: None,
                token: None,
            },
            callback: None,
            callback_state: None,
            opened_at: at(0),
            deadline: at(600),
            remaining: Duration::from_mins(10),
            is_over: false,
            inbox_has_ended: false,
            resends_left: 1,
            resent_at: None,
            outcome: None,
            current: None,
            has_consumed: false,
            miss: None,
        }
    }

    fn with_artifact() -> AttemptView {
        AttemptView {
            current: Some(ArtifactView {
                id: ArtifactId::new(),
                inbox: "agent@inbox.test".parse().unwrap(),
                seq: Seq::new(1),
                kind: ArtifactKind::Code,
                verdict: Verdict::Usable,
                rule: Reason::new("labelled_digits"),
                confidence: 97,
                host: None,
                message: MessageId::new(),
                sender: None,
                sender_domain: None,
                sender_proof: crate::SenderProof::default(),
                flags: Vec::new(),
                received_at: at(1),
                expires_at: at(900),
                is_expired: false,
                consumed_at: None,
                attempt: None,
                is_superseded: false,
            }),
            ..attempt()
        }
    }

    fn consumed(second: i64) -> AttemptView {
        let mut view = with_artifact();
        if let Some(current) = &mut view.current {
            current.consumed_at = Some(at(second));
        }
        view.has_consumed = true;
        view
    }

    fn over(view: AttemptView) -> AttemptView {
        AttemptView {
            is_over: true,
            remaining: Duration::ZERO,
            ..view
        }
    }

    #[test]
    fn without_mail_it_is_pending_until_nothing_has_arrived() {
        assert_eq!(attempt().status(), AttemptStatus::Pending);
        assert_eq!(over(attempt()).status(), AttemptStatus::NothingArrived);
    }

    #[test]
    fn a_miss_is_told_before_and_after_the_deadline() {
        let why = Reason::new("host_not_allowed");
        let view = AttemptView {
            miss: Some((MissKind::Blocked, why.clone())),
            ..attempt()
        };
        assert_eq!(view.status(), AttemptStatus::Blocked(why.clone()));
        assert_eq!(over(view).status(), AttemptStatus::Blocked(why.clone()));
        let view = AttemptView {
            miss: Some((MissKind::NoArtifact, why.clone())),
            ..attempt()
        };
        assert_eq!(view.status(), AttemptStatus::NoArtifact(why));
    }

    #[test]
    fn a_mail_that_went_to_another_is_told_when_no_other_can_come() {
        let view = AttemptView {
            miss: Some((MissKind::NoArtifact, GIVEN_TO_ANOTHER_ATTEMPT)),
            ..attempt()
        };
        assert_eq!(view.status(), AttemptStatus::Pending);
        assert_eq!(over(view).status(), AttemptStatus::NoArtifact(GIVEN_TO_ANOTHER_ATTEMPT));
    }

    #[test]
    fn the_newest_artifact_decides() {
        assert_eq!(with_artifact().status(), AttemptStatus::Ready);
        assert_eq!(over(with_artifact()).status(), AttemptStatus::Expired);
        assert_eq!(consumed(5).status(), AttemptStatus::Consumed);
        assert_eq!(over(consumed(5)).status(), AttemptStatus::Consumed);
        let newer = AttemptView {
            has_consumed: true,
            ..with_artifact()
        };
        assert_eq!(newer.status(), AttemptStatus::Superseded);
    }

    #[test]
    fn what_was_finished_waits_for_nothing_and_gives_nothing() {
        let finished = |view| AttemptView {
            outcome: Some(AttemptOutcome::Abandoned),
            ..view
        };
        assert_eq!(finished(attempt()).status(), AttemptStatus::Expired);
        assert_eq!(finished(with_artifact()).status(), AttemptStatus::Expired);
        assert_eq!(finished(consumed(5)).status(), AttemptStatus::Consumed);
    }

    #[test]
    fn an_inbox_that_has_ended_brings_nothing_and_keeps_what_it_brought() {
        let ended = |view| AttemptView {
            inbox_has_ended: true,
            ..view
        };
        assert_eq!(ended(attempt()).status(), AttemptStatus::Expired);
        assert_eq!(ended(over(attempt())).status(), AttemptStatus::NothingArrived);
        assert_eq!(ended(with_artifact()).status(), AttemptStatus::Ready);
    }

    #[test]
    fn a_resend_after_a_consume_is_waited_for() {
        let resent = |second| AttemptView {
            resent_at: Some(at(second)),
            ..consumed(5)
        };
        assert_eq!(resent(4).status(), AttemptStatus::Consumed);
        assert_eq!(resent(6).status(), AttemptStatus::Pending);
        assert_eq!(over(resent(6)).status(), AttemptStatus::Consumed);
    }
}
