//! `POST /v1/messages/{message}/replies`: answers a message, at most once.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{MessageId, ReplyOrder, ReplyOrdered, ReplyRecorded, RequestKind, SenderName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::order::invalid_value;
use super::order_body::{MAX_VALUES, ValueBody, is_template, template_values};
use super::send_body::SendBody;
use super::show::settled_if_possible;
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::{Problem, UsedIntent};
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The request body. Recipient, subject and headers come from the message.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = ReplyWish)]
pub(crate) struct ReplyRequestBody {
    /// The configured sender. By default the one with the address of the inbox, or the
    /// only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    /// The configured template; its subject is used only if the message has none.
    #[schema(required = true)]
    template: String,
    /// The values of the template.
    #[schema(value_type = BTreeMap<String, ValueBody>)]
    values: BTreeMap<String, ValueBody>,
    /// For how many seconds to wait until the mail is sent. If all waits of the key are in
    /// use, the answer comes at once.
    wait: u64,
}

impl RequestBody for ReplyRequestBody {
    fn fields(settings: &Settings, _: &Policy) -> Vec<Field> {
        let name = json!({ "minLength": 1, "maxLength": 40 });
        let values = "at most 64 values of the template, texts or whole numbers";
        let max_wait = settings.wait_limit.as_secs();
        vec![
            Field::new(
                "sender",
                "the name of a configured sender; it may be left out if there is only one",
                name.clone(),
            ),
            Field::new("template", "a template of the sender", name),
            Field::new("values", values, json!({ "maxProperties": MAX_VALUES })),
            Field::number("wait", 0..=max_wait, "seconds"),
        ]
    }
}

impl ReplyRequestBody {
    fn into_order(
        self,
        fields: &Fields,
        caller: &Caller,
        message: MessageId,
    ) -> Result<ReplyOrder, Problem> {
        fields.check("wait", self.wait)?;
        let sender = self.sender.map(|name| name.parse::<SenderName>());
        let sender = sender.transpose();
        if !is_template(&self.template) {
            return Err(fields.invalid("template"));
        }
        Ok(ReplyOrder {
            message,
            scope: caller.scope.clone(),
            sender: sender.map_err(|_invalid| fields.invalid("sender"))?,
            template: self.template,
            values: template_values(self.values).ok_or_else(|| fields.invalid("values"))?,
            by: caller.consumer.clone(),
            asked: None,
        })
    }
}

/// Answers a message.
///
/// Returns: 201 with the reply, `ready` or `held`; 200 with the one reply if the message
/// has it already, from any caller and with any content; 400 for an invalid body, an
/// unknown sender or template; 401 without a valid key; 403 without the scope; 404 for a
/// message that does not exist for the caller; 409 `no-reply` with the reason if the
/// message is not answered; 409 `thread-handed-over` if a person answers in its thread,
/// also if this reply was one too many; 422 if the idempotency key was used for another
/// request; 429 `send-cap` at a cap of sends, or a rate limit: then this request recorded
/// nothing; 503 if the store is unavailable: then nothing
/// was sent, or the same request finds it.
pub(crate) async fn reply_to(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: ReplyRequestBody = read_body(&request, payload, &feed).await?;
    let message: MessageId = path.parse().map_err(|_invalid| Problem::NotFound)?;
    let tag = request_tag(&feed, RequestKind::Send, path.as_str(), &body)?;
    let wait = Duration::from_secs(body.wait);
    let fields = Fields::of::<ReplyRequestBody>(&feed);
    let order = ReplyOrder {
        asked: keyed_request(&caller, RequestKind::Send, key, tag),
        ..body.into_order(&fields, &caller, message)?
    };
    let (view, known) = place(&feed, &fields, order).await?;
    let view = settled_if_possible(&feed, &caller, view, wait).await?;
    let body = SendBody::new(view);
    Ok(match known {
        None => reply::json(StatusCode::CREATED, &body),
        Some(is_same) => {
            let body = body.duplicate(is_same);
            reply::replayed(reply::json(StatusCode::OK, &body))
        }
    })
}

/// The reply; and if the message had it before, whether its content is the same.
async fn place(
    feed: &Feed,
    fields: &Fields,
    order: ReplyOrder,
) -> Result<(pipeline::SendView, Option<bool>), Problem> {
    let Some(desk) = &feed.deps.desk else {
        return Err(fields.invalid("sender"));
    };
    let recorded = match ask_store(desk.reply(order)).await? {
        ReplyOrdered::Recorded(recorded) => recorded,
        ReplyOrdered::UnknownMessage => return Err(Problem::NotFound),
        ReplyOrdered::Refused(why) => return Err(Problem::NoReply(why)),
        ReplyOrdered::UnknownSender => return Err(fields.invalid("sender")),
        ReplyOrdered::UnknownTemplate => return Err(fields.invalid("template")),
        ReplyOrdered::InvalidValue(value) => return Err(invalid_value(value)),
    };
    match recorded {
        ReplyRecorded::New(view) => Ok((view, None)),
        ReplyRecorded::Known(view, is_same) => Ok((view, Some(is_same))),
        ReplyRecorded::IntentUsed(view) => Err(Problem::IntentUsed(UsedIntent::from(&view))),
        ReplyRecorded::KeyReused => Err(Problem::IdempotencyKeyReused),
        ReplyRecorded::AnsweredSince => {
            Err(Problem::NoReply(pipeline::ReplyRefusal::AnsweredSince))
        }
        ReplyRecorded::HandedOver(thread, _) => Err(Problem::ThreadHandedOver(thread.to_string())),
        ReplyRecorded::Capped(what, left) => Err(Problem::SendCap(what, left.as_secs().max(1))),
    }
}
