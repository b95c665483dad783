//! What a provider answers to a request to send.

use serde_json::json;

use super::Provider;
use crate::mail_provider::accepted::Accepted;
use crate::mail_provider::wire::Reply;

impl Provider {
    /// The answer when a mail is accepted.
    pub(super) fn accepted(self, id: &str) -> Reply {
        match self {
            Self::AgentMail => Reply::new(200, &json!({"message_id": id, "thread_id": "thread"})),
            Self::Brevo => Reply::new(201, &json!({"messageId": format!("<{id}>")})),
            Self::Mailgun => Reply::new(
                200,
                &json!({"id": format!("<{id}>"), "message": "Queued. Thank you."}),
            ),
            Self::Nylas => Reply::new(200, &json!({"request_id": "r", "data": {"id": id}})),
            Self::Postmark => Reply::new(
                200,
                &json!({"ErrorCode": 0, "Message": "OK", "MessageID": id}),
            ),
            Self::Resend => Reply::new(200, &json!({"id": id})),
            Self::SendGrid => Reply::with_id(202, id),
            Self::Ses => Reply::new(200, &json!({"MessageId": id})),
            Self::SparkPost => {
                let results = json!({
                    "total_accepted_recipients": 1,
                    "total_rejected_recipients": 0,
                    "id": id,
                });
                Reply::new(200, &json!({"results": results}))
            }
        }
    }

    /// The answer to a request with a key that is known.
    pub(super) fn repeated(self, known: &Accepted, body: &str) -> Reply {
        if self == Self::Brevo {
            return Reply::new(400, &json!({"code": "duplicate_parameter"}));
        }
        if known.body == body {
            return self.accepted(&known.id);
        }
        let error = match self {
            Self::Nylas => json!({"error": {"type": "api.invalid_idempotent_request"}}),
            Self::Resend => json!({"name": "invalid_idempotent_request"}),
            Self::SparkPost => json!({"errors": [{"code": "1600"}]}),
            _ => json!({"name": "ConflictError"}),
        };
        Reply::new(409, &error)
    }
}
