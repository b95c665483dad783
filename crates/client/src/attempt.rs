//! The feed's answers about attempts.

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value as Json;

/// An attempt and its state.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Its id.
    pub id: String,
    /// The address that the mail must be sent to.
    pub inbox: String,
    /// Code, link or either.
    pub kind: String,
    /// Its state, as the API names it.
    pub state: String,
    /// Why there is no value: a policy, or what the extractor found.
    pub reason: Option<String>,
    /// The domain that a list lacks, of the sender or of the link's host. The sender of the
    /// mail chose it.
    pub seen: Option<String>,
    /// What to do next, as the API names it.
    pub next: String,
    /// What to do next, in a sentence.
    pub hint: String,
    /// The part of the server that is unhealthy.
    pub component: Option<String>,
    /// The outcome that it was finished with.
    pub outcome: Option<String>,
    /// How many times another mail may be requested.
    pub resends_left: u32,
    /// When the attempt was opened, in RFC 3339.
    pub opened_at: String,
    /// When the attempt ends, in RFC 3339.
    pub deadline: String,
    /// When the mail of its newest value was received, in RFC 3339.
    pub received_at: Option<String>,
    /// The whole answer.
    pub body: Json,
}

#[derive(Deserialize)]
struct Fields {
    id: String,
    inbox: String,
    #[serde(default)]
    kind: String,
    state: String,
    reason: Option<String>,
    seen: Option<String>,
    #[serde(default)]
    next: String,
    #[serde(default)]
    hint: String,
    component: Option<String>,
    outcome: Option<String>,
    #[serde(default)]
    resends_left: u32,
    opened_at: String,
    deadline: String,
    artifact: Option<ArtifactFields>,
}

#[derive(Deserialize)]
struct ArtifactFields {
    received_at: String,
}

impl Attempt {
    /// Whether waiting may still help.
    pub fn may_change(&self) -> bool {
        let is_open = ["pending", "unhealthy", "blocked", "no_artifact"];
        is_open.contains(&self.state.as_str()) && self.outcome.is_none()
    }

    /// Whether there is something to consume.
    pub fn is_ready(&self) -> bool {
        ["ready", "superseded"].contains(&self.state.as_str())
    }

    pub(crate) fn read(body: Json) -> Result<Self, serde_json::Error> {
        let fields = Fields::deserialize(&body)?;
        Ok(Self {
            id: fields.id,
            inbox: fields.inbox,
            kind: fields.kind,
            state: fields.state,
            reason: fields.reason,
            seen: fields.seen,
            next: fields.next,
            hint: fields.hint,
            component: fields.component,
            outcome: fields.outcome,
            resends_left: fields.resends_left,
            opened_at: fields.opened_at,
            deadline: fields.deadline,
            received_at: fields.artifact.map(|artifact| artifact.received_at),
            body,
        })
    }
}

/// The outcome of consuming an attempt's value.
#[derive(Debug, Clone)]
pub enum AttemptConsumption {
    /// This consumer has the value.
    Value(AttemptValue),
    /// There is nothing to consume, now or for good.
    NotReady(Box<Attempt>),
    /// Another request has consumed it.
    Already {
        /// When, in RFC 3339.
        consumed_at: Option<String>,
    },
}

/// A value that was disclosed to this consumer and to nobody else.
#[derive(Debug, Clone, Deserialize)]
pub struct AttemptValue {
    /// The artifact's id.
    pub artifact: String,
    /// Code or link.
    pub kind: String,
    /// The code, the link, or the field of the link that was asked for.
    #[serde(alias = "token")]
    pub value: SecretString,
    /// Whether the sender of its mail is proven. An older server does not say.
    pub sender_verified: Option<bool>,
    /// What proves it, or why it is not proven.
    pub sender_proof: Option<String>,
    /// When it was consumed, in RFC 3339.
    pub consumed_at: String,
}

impl AttemptConsumption {
    /// Parses an answer that is either a value or the attempt's state.
    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        if let Ok(value) = serde_json::from_slice(body) {
            return Ok(Self::Value(value));
        }
        let attempt = Attempt::read(serde_json::from_slice(body)?)?;
        Ok(Self::NotReady(Box::new(attempt)))
    }
}

/// The outcome of asking for a resend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendAnswer {
    /// Another mail may be requested.
    Granted {
        /// How many resends are left after this one.
        left: u32,
    },
    /// No resends are left.
    Spent,
    /// The attempt is over.
    Over,
}

/// The outcome of finishing an attempt.
#[derive(Debug, Clone)]
pub enum FinishAnswer {
    /// It is finished with this outcome, now or before.
    Finished(Box<Attempt>),
    /// It was finished before with another outcome.
    OtherOutcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_of_an_older_server_is_read_without_the_sender() {
        let mut answer = serde_json::json!({
            "attempt": "att_1", "artifact": "art_1", "state": "consumed", "kind": "code",
            "value": "493817", "consumed_at": "2026-11-15T10:00:00Z",
        });
        let read = |answer: &Json| {
            let body = serde_json::to_vec(answer).unwrap();
            match AttemptConsumption::read(&body).unwrap() {
                AttemptConsumption::Value(given) => (given.sender_verified, given.sender_proof),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(read(&answer), (None, None));
        answer["sender_verified"] = true.into();
        answer["sender_proof"] = "dkim".into();
        assert_eq!(read(&answer), (Some(true), Some("dkim".to_owned())));
    }
}
