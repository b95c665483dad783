//! `/v1/messages/{message}`: a message without anything that its sender wrote, and whether
//! it can be answered.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use pipeline::{InboxId, MessageId, MessageView, Reason, ReplyRefusal, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::send::SendBody;
use crate::state::Feed;

/// A message, and what became of it.
#[derive(Serialize, ToSchema)]
#[schema(as = Message)]
pub(crate) struct MessageBody {
    #[schema(value_type = String)]
    id: MessageId,
    #[schema(value_type = String)]
    inbox: InboxId,
    /// The registrable domain of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_domain: Option<String>,
    /// Whether the sender is proven.
    sender_proven: bool,
    /// What was unusual about it, and its labels as `label.NAME`.
    #[schema(value_type = Vec<String>)]
    flags: Vec<Reason>,
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    /// What rules did, in order: origin, name and action, such as
    /// `built_in.automated:no_reply`.
    rules: Vec<String>,
    /// Why it is not answered, as far as the message alone says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    no_reply: Option<&'static str>,
    /// Its thread, if it can be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<MessageThreadBody>,
    /// Its one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<SendBody>,
}

/// The thread of a message.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageThread)]
struct MessageThreadBody {
    id: String,
    #[schema(value_type = String)]
    state: &'static str,
}

impl MessageBody {
    fn new(view: MessageView, shown: fn(&str) -> Option<&str>) -> Self {
        let flags = view.flags.iter().take(20);
        Self {
            id: view.id,
            inbox: view.inbox,
            sender_domain: view
                .sender_domain
                .as_deref()
                .and_then(shown)
                .map(str::to_owned),
            sender_proven: view.sender_proof.holds(),
            flags: flags.map(|flag| Reason::from_stored(flag)).collect(),
            received_at: view.received_at,
            rules: view.rules,
            no_reply: view.no_reply.map(ReplyRefusal::as_str),
            thread: view.thread.map(|(thread, state)| MessageThreadBody {
                id: thread.to_string(),
                state: state.as_str(),
            }),
            reply: view.reply.map(SendBody::new),
        }
    }
}

/// Returns a message; 404 for one that does not exist for the caller.
pub(crate) async fn show(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let message: MessageId = path.parse().map_err(|_invalid| Problem::NotFound)?;
    let view = ask_store(feed.deps.threads.message(message, &caller.scope)).await?;
    let view = view.ok_or(Problem::NotFound)?;
    let body = MessageBody::new(view, feed.deps.policy.shown_domain);
    Ok(reply::json(StatusCode::OK, &body))
}
