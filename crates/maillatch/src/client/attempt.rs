//! What the feed answers about attempts, as far as a client reads it.

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

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
    /// Until when it is awaited, as RFC 3339 has it.
    pub deadline: String,
    /// All that was said.
    pub told: Value,
}

#[derive(Deserialize)]
struct Fields {
    id: String,
    inbox: String,
    state: String,
    reason: Option<String>,
    #[serde(default)]
    hint: String,
    deadline: String,
}

impl Attempt {
    pub(super) fn read(told: Value) -> Result<Self, serde_json::Error> {
        let fields = Fields::deserialize(&told)?;
        Ok(Self {
            id: fields.id,
            inbox: fields.inbox,
            state: fields.state,
            reason: fields.reason,
            hint: fields.hint,
            deadline: fields.deadline,
            told,
        })
    }
}

/// What came of asking to consume.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Taken {
    /// The value is ours.
    Value {
        /// The artifact's id.
        artifact: String,
        /// Code or link.
        kind: String,
        /// The code or the link, or the field of it that was asked for.
        #[serde(alias = "token")]
        value: SecretString,
        /// When it was consumed, as RFC 3339 has it.
        consumed_at: String,
    },
    /// There is nothing to consume yet, or never will be.
    NotReady {
        /// The word for how it stands.
        state: String,
        /// Which rule blocks it, or why nothing safe was found.
        reason: Option<String>,
        /// What to do next, in a sentence.
        #[serde(default)]
        hint: String,
    },
    /// It was consumed by another request.
    Already {
        /// As RFC 3339 has it.
        consumed_at: Option<String>,
    },
}
