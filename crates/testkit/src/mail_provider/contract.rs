//! The four contracts, as the providers document them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::accepted::{Accepted, send_key};
use super::wire::header;

/// An operation of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contract {
    Resend,
    Postmark,
    PostmarkSearch,
    Ses,
    AgentMail,
    AgentMailList,
}

impl Contract {
    /// The operation that a request asks for.
    pub(super) fn of(head: &str) -> Option<Self> {
        let mut words = head.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let path = target.split('?').next()?;
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        match (method, segments.as_slice()) {
            ("POST", ["emails"]) => Some(Self::Resend),
            ("POST", ["email"]) => Some(Self::Postmark),
            ("GET", ["messages", "outbound"]) => Some(Self::PostmarkSearch),
            ("POST", ["v2", "email", "outbound-emails"]) => Some(Self::Ses),
            ("POST", ["v0", "inboxes", _, "messages", "send"]) => Some(Self::AgentMail),
            ("GET", ["v0", "inboxes", _, "messages"]) => Some(Self::AgentMailList),
            _ => None,
        }
    }

    pub(super) fn is_look_up(self) -> bool {
        matches!(self, Self::PostmarkSearch | Self::AgentMailList)
    }

    /// Answers a look-up from what was accepted.
    pub(super) fn look_up(self, head: &str, accepted: &[Accepted]) -> (u16, String) {
        let target = head.split(' ').nth(1).unwrap_or_default();
        let key = send_key(target).unwrap_or_default();
        let found = accepted.iter().filter(|mail| mail.key == key);
        let found: Vec<Value> = match self {
            Self::PostmarkSearch => found
                .map(|mail| json!({"Tag": key, "MessageID": mail.id, "Status": "Sent"}))
                .collect(),
            _ => found
                .map(|mail| json!({"labels": ["sent", key], "message_id": mail.id}))
                .collect(),
        };
        let body = match self {
            Self::PostmarkSearch => json!({"TotalCount": found.len(), "Messages": found}),
            _ => json!({"count": found.len(), "messages": found}),
        };
        (200, body.to_string())
    }

    /// Accepts a mail, or refuses it as the provider would.
    pub(super) fn accept(
        self,
        head: &str,
        body: &str,
        accepted: &mut Vec<Accepted>,
    ) -> (u16, String) {
        if let Some(refused) = self.refusal(head, body) {
            return refused;
        }
        let idempotency_key = header(head, "idempotency-key").unwrap_or_default();
        if self.knows_keys() && !idempotency_key.is_empty() {
            let same = |mail: &&Accepted| {
                mail.provider == self.provider() && mail.idempotency_key == idempotency_key
            };
            if let Some(known) = accepted.iter().find(same) {
                return if known.body == body {
                    (200, self.answer(&known.id))
                } else {
                    (409, json!({"name": self.other_body()}).to_string())
                };
            }
        }
        let id = format!("{}-{}", self.provider(), accepted.len() + 1);
        let answer = self.answer(&id);
        accepted.push(Accepted {
            provider: self.provider(),
            key: send_key(&self.mail(body)).unwrap_or_default(),
            idempotency_key,
            body: body.to_owned(),
            id,
        });
        (200, answer)
    }

    /// How a request is refused that the contract does not allow.
    fn refusal(self, head: &str, body: &str) -> Option<(u16, String)> {
        let authorization = header(head, "authorization").unwrap_or_default();
        let has_key = match self {
            Self::Postmark => header(head, "x-postmark-server-token").is_some(),
            Self::Ses => {
                authorization.starts_with("AWS4-HMAC-SHA256 Credential=")
                    && authorization.contains("/ses/aws4_request")
                    && header(head, "x-amz-date").is_some()
            }
            _ => authorization.starts_with("Bearer "),
        };
        if !has_key {
            return Some((401, json!({"ErrorCode": 10}).to_string()));
        }
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let wanted: &[&str] = match self {
            Self::Postmark => &["/From", "/To", "/Subject", "/TextBody"],
            Self::Ses => &["/Content/Raw/Data", "/Destination/ToAddresses/0"],
            Self::AgentMail => &["/to/0", "/subject", "/text"],
            _ => &["/from", "/to/0", "/subject", "/text"],
        };
        let is_complete = wanted
            .iter()
            .all(|place| json.pointer(place).is_some_and(Value::is_string));
        (!is_complete).then(|| (422, json!({"ErrorCode": 300}).to_string()))
    }

    fn provider(self) -> &'static str {
        match self {
            Self::Resend => "resend",
            Self::Postmark | Self::PostmarkSearch => "postmark",
            Self::Ses => "ses",
            Self::AgentMail | Self::AgentMailList => "agentmail",
        }
    }

    fn knows_keys(self) -> bool {
        matches!(self, Self::Resend | Self::AgentMail)
    }

    fn other_body(self) -> &'static str {
        match self {
            Self::Resend => "invalid_idempotent_request",
            _ => "ConflictError",
        }
    }

    fn answer(self, id: &str) -> String {
        let answer = match self {
            Self::Resend => json!({"id": id}),
            Self::Postmark => json!({"ErrorCode": 0, "Message": "OK", "MessageID": id}),
            Self::Ses => json!({"MessageId": id}),
            _ => json!({"message_id": id, "thread_id": "thread"}),
        };
        answer.to_string()
    }

    /// The mail of a request as text. The header with the key of the send is what counts:
    /// the request itself may carry another key.
    fn mail(self, body: &str) -> String {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let text = |place: &str| json.pointer(place).and_then(Value::as_str);
        match self {
            Self::Ses => {
                let data = text("/Content/Raw/Data").unwrap_or_default();
                let message = STANDARD.decode(data).unwrap_or_default();
                String::from_utf8(message).unwrap_or_default()
            }
            Self::Postmark => json
                .get("Headers")
                .map(Value::to_string)
                .unwrap_or_default(),
            _ => json
                .get("headers")
                .map(Value::to_string)
                .unwrap_or_default(),
        }
    }
}
