//! An answer to a message: at most one, and only to a sender that is proven or listed.

use pipeline::{
    HandoverTime, IntentLabel, NewReply, ReplyContext, ReplyOrder, ReplyOrdered, ReplyRecorded,
    ReplyRefusal, ReplyTarget, Request, SendView, StoreError,
};

use super::answer::{answered, recipient, subject};
use super::{Desk, Draft, invalid};
use crate::meters::{OfSender, ReplyOutcome};
use crate::sender::Sender;
use crate::template::Content;

pub(super) async fn reply(desk: &Desk, order: ReplyOrder) -> Result<ReplyOrdered, StoreError> {
    let target = desk.replies.reply_target(order.message, &order.scope);
    let Some(target) = target.await? else {
        return Ok(ReplyOrdered::UnknownMessage);
    };
    let (known, asked) = (target.reply.clone(), order.asked.clone());
    let reply = match render(desk, order, target) {
        Ok(reply) => reply,
        Err(refused) => return refusal(desk, *refused, known, asked).await,
    };
    let (sender, message) = (reply.send.sender.clone(), reply.message);
    let recorded = desk.replies.record_reply(reply).await?;
    desk.meters.count_reply(word(&recorded));
    match &recorded {
        ReplyRecorded::New(_) => {
            let label = OfSender {
                sender: sender.to_string(),
                outcome: "new",
            };
            desk.meters.asked.get_or_create(&label).inc();
        }
        ReplyRecorded::HandedOver(thread, HandoverTime::Now) => {
            tracing::error!(
                thread.id = %thread, message.id = %message,
                "too many replies: the thread is handed over to a person, and nothing more is \
                 sent in it until `maillatch threads release`"
            );
        }
        _ => {}
    }
    Ok(ReplyOrdered::Recorded(recorded))
}

/// The answer to an order that was refused. A message that was answered before it could no
/// longer be answered keeps its reply.
async fn refusal(
    desk: &Desk,
    refused: ReplyOrdered,
    known: Option<SendView>,
    asked: Option<Request>,
) -> Result<ReplyOrdered, StoreError> {
    Ok(match (refused, known) {
        (ReplyOrdered::Refused(_), Some(reply)) => {
            let recorded = match asked {
                Some(asked) => desk.replies.repeat_reply(reply.id, asked).await?,
                None => ReplyRecorded::Known(reply, false),
            };
            desk.meters.count_reply(word(&recorded));
            ReplyOrdered::Recorded(recorded)
        }
        (ReplyOrdered::Refused(why), None) => {
            desk.meters.count_reply(why.as_str());
            ReplyOrdered::Refused(why)
        }
        (refused, _) => refused,
    })
}

/// Checks an order and renders the mail. Its recipient, its subject and its ids come from
/// the message.
fn render(
    desk: &Desk,
    order: ReplyOrder,
    target: ReplyTarget,
) -> Result<NewReply, Box<ReplyOrdered>> {
    let refused = |why| Box::new(ReplyOrdered::Refused(why));
    let sender = sender_of(desk, &order, &target).ok_or(ReplyOrdered::UnknownSender)?;
    let template = desk.senders.template(sender, &order.template);
    let template = template.ok_or(ReplyOrdered::UnknownTemplate)?;
    if let Some(why) = target.no_reply {
        return Err(refused(why));
    }
    let (Some(asked), Some(thread)) = (&target.context, target.thread) else {
        return Err(refused(ReplyRefusal::NotKept));
    };
    let to = recipient(asked, target.proof.holds(), &sender.recipients).map_err(refused)?;
    let content = template.fill(&order.values, &sender.links);
    let content = content.map_err(|error| ReplyOrdered::InvalidValue(invalid(error)))?;
    let draft = Draft {
        sender,
        template,
        content: of_reply(content, asked),
        label: label(&target),
        to,
        answers: Some(answered(asked)),
        by: order.by,
        asked: order.asked,
    };
    let send = desk.finish(draft);
    Ok(NewReply {
        send: send.map_err(ReplyOrdered::InvalidValue)?,
        message: target.message,
        inbox: target.inbox,
        thread,
        caps: desk.caps.clone(),
    })
}

/// The named sender; or the one with the address of the inbox, or the only one.
fn sender_of<'d>(desk: &'d Desk, order: &ReplyOrder, target: &ReplyTarget) -> Option<&'d Sender> {
    if let Some(name) = &order.sender {
        return desk.senders.sender(name);
    }
    let of_inbox = |sender: &&Sender| *sender.from.address() == target.inbox;
    let mut all = desk.senders.iter();
    let only = all.next().filter(|_| all.next().is_none());
    desk.senders.iter().find(of_inbox).or(only)
}

fn of_reply(content: Content, asked: &ReplyContext) -> Content {
    Content {
        subject: subject(asked, &content.subject),
        ..content
    }
}

/// What a reply is for. There is one for each message.
fn label(target: &ReplyTarget) -> IntentLabel {
    IntentLabel {
        kind: "reply".to_owned(),
        entity: target.message.to_string(),
        version: 1,
    }
}

fn word(recorded: &ReplyRecorded) -> ReplyOutcome {
    match recorded {
        ReplyRecorded::New(_) => "new",
        ReplyRecorded::Known(..) => "duplicate",
        ReplyRecorded::IntentUsed(_) => "intent_used",
        ReplyRecorded::KeyReused => "key_reused",
        ReplyRecorded::AnsweredSince => "answered_since",
        ReplyRecorded::HandedOver(_, HandoverTime::Now) => "handed_over_now",
        ReplyRecorded::HandedOver(_, HandoverTime::Before) => "handed_over",
        ReplyRecorded::Capped(..) => "capped",
    }
}
