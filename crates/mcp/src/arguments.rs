//! The arguments of a tool call. Unknown and invalid ones are refused with a sentence,
//! because a model corrects itself by it.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The longest wait of one call. Clients give up on a call after 60 seconds.
pub(crate) const MAX_WAIT: u64 = 50;
/// The wait without `timeout_s`.
pub(crate) const DEFAULT_WAIT: u64 = 25;

/// What an attempt waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wanted {
    #[default]
    Code,
    Link,
}

impl Wanted {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
        }
    }
}

/// `start_attempt`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    pub(crate) reference: String,
    #[serde(default)]
    pub(crate) kind: Wanted,
    #[serde(default)]
    pub(crate) from: Vec<String>,
    pub(crate) link_hosts: Option<Vec<String>>,
    pub(crate) address: Option<String>,
    pub(crate) expires_in_s: Option<u64>,
}

/// `wait_for_code` and `wait_for_link`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    pub(crate) attempt_id: String,
    timeout_s: Option<u64>,
}

impl Wait {
    /// How long to wait; a longer time is reduced to the longest.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_s.unwrap_or(DEFAULT_WAIT).min(MAX_WAIT))
    }
}

/// `request_resend`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resend {
    pub(crate) attempt_id: String,
    #[serde(default = "first")]
    pub(crate) number: u64,
}

fn first() -> u64 {
    1
}

/// `explain_attempt`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explain {
    pub(crate) attempt_id: String,
}

/// `finish_attempt`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finish {
    pub(crate) attempt_id: String,
    pub(crate) outcome: Outcome,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    Abandoned,
}

impl Outcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Reads the arguments; the error is a sentence for the model.
pub(crate) fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wait(arguments: Value) -> Result<Wait, String> {
        let Value::Object(arguments) = arguments else {
            panic!("not an object");
        };
        read(arguments)
    }

    #[test]
    fn wait_is_25_seconds_by_default_and_at_most_50() {
        let seconds = |arguments| wait(arguments).unwrap().timeout().as_secs();
        assert_eq!(seconds(json!({"attempt_id": "att_x"})), 25);
        assert_eq!(seconds(json!({"attempt_id": "att_x", "timeout_s": 0})), 0);
        assert_eq!(seconds(json!({"attempt_id": "att_x", "timeout_s": 90})), 50);
    }

    #[test]
    fn unknown_and_missing_arguments_are_named() {
        let unknown = wait(json!({"attempt_id": "att_x", "timeout": 5})).unwrap_err();
        assert!(unknown.contains("`timeout`"), "{unknown}");
        let missing = wait(json!({})).unwrap_err();
        assert!(missing.contains("`attempt_id`"), "{missing}");
    }
}
