//! What a provider answers when it is asked for mail.

use serde_json::{Value, json};

use super::Provider;
use crate::mail_provider::accepted::{Accepted, send_key};
use crate::mail_provider::wire::Reply;

impl Provider {
    /// Answers a look-up from what was accepted.
    pub(in crate::mail_provider) fn look_up(self, head: &str, accepted: &[Accepted]) -> Reply {
        let target = head.split(' ').nth(1).unwrap_or_default();
        let key = send_key(target).unwrap_or_default();
        let with_key = accepted.iter().filter(|mail| mail.key == key);
        let found: Vec<Value> = match self {
            Self::Postmark => with_key
                .map(|mail| json!({"Tag": key, "MessageID": mail.id, "Status": "Sent"}))
                .collect(),
            _ => with_key
                .map(|mail| json!({"labels": ["sent", key], "message_id": mail.id}))
                .collect(),
        };
        let body = match self {
            Self::Postmark => json!({"TotalCount": found.len(), "Messages": found}),
            _ => json!({"count": found.len(), "messages": found}),
        };
        Reply::new(200, &body)
    }
}
