//! What the feed answers about attempts, as far as a client reads it.

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value as Json;

/// How an attempt stands.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Its id.
    pub id: String,
    /// The address to give to whoever sends the mail.
    pub inbox: String,
    /// The word for how it stands.
    pub state: String,
    /// Which rule blocks it, or why nothing safe was found.
    pub reason: Option<String>,
    /// What to do next, in a sentence.
    pub hint: String,
    /// Which part of the server is not well.
    pub component: Option<String>,
    /// How it was said to have ended.
    pub outcome: Option<String>,
    /// Until when it is awaited, as RFC 3339 has it.
    pub deadline: String,
    /// All that was said.
    pub told: Json,
}

#[derive(Deserialize)]
struct Fields {
    id: String,
    inbox: String,
    state: String,
    reason: Option<String>,
    #[serde(default)]
    hint: String,
    component: Option<String>,
    outcome: Option<String>,
    deadline: String,
}

impl Attempt {
    /// Whether waiting may still bring something to consume.
    pub fn may_change(&self) -> bool {
        let is_open = ["pending", "unhealthy", "blocked", "no_artifact"];
        is_open.contains(&self.state.as_str()) && self.outcome.is_none()
    }

    /// Whether there is something to consume.
    pub fn is_ready(&self) -> bool {
        ["ready", "superseded"].contains(&self.state.as_str())
    }

    pub(super) fn read(told: Json) -> Result<Self, serde_json::Error> {
        let fields = Fields::deserialize(&told)?;
        Ok(Self {
            id: fields.id,
            inbox: fields.inbox,
            state: fields.state,
            reason: fields.reason,
            hint: fields.hint,
            component: fields.component,
            outcome: fields.outcome,
            deadline: fields.deadline,
            told,
        })
    }
}

/// What came of asking to consume.
#[derive(Debug, Clone)]
pub enum Taken {
    /// The value is ours.
    Value(Given),
    /// There is nothing to consume yet, or never will be.
    NotReady(Box<Attempt>),
    /// It was consumed by another request.
    Already {
        /// As RFC 3339 has it.
        consumed_at: Option<String>,
    },
}

/// A value that was given out, to this consumer alone.
#[derive(Debug, Clone, Deserialize)]
pub struct Given {
    /// The artifact's id.
    pub artifact: String,
    /// Code or link.
    pub kind: String,
    /// The code or the link, or the field of it that was asked for.
    #[serde(alias = "token")]
    pub value: SecretString,
    /// When it was consumed, as RFC 3339 has it.
    pub consumed_at: String,
}

impl Taken {
    /// An answer that is a value, or how the attempt stands.
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        if let Ok(value) = serde_json::from_slice(body) {
            return Ok(Self::Value(value));
        }
        let attempt = Attempt::read(serde_json::from_slice(body)?)?;
        Ok(Self::NotReady(Box::new(attempt)))
    }
}

/// What came of asking for another mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resent {
    /// It may be asked for; this often more after that.
    Granted {
        /// How often more.
        left: u32,
    },
    /// The budget is spent.
    Spent,
    /// The attempt is over.
    Over,
}

/// What came of saying how an attempt ended.
#[derive(Debug, Clone)]
pub enum Ended {
    /// It has ended like this, now or before.
    Finished(Box<Attempt>),
    /// It was said before to have ended otherwise.
    Otherwise,
}
