//! A desk that renders nothing: it knows one sender, one template and one domain of
//! recipients.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ActionName, CapKind, ConsumerId, Intent, IntentLabel, InvalidValue, NewReply, NewSend,
    ProviderKey, Recipient, ReplyLog, ReplyOrder, ReplyOrdered, ReplyRefusal, Request, SendCap,
    SendDesk, SendId, SendLog, SendOrder, SendOrdered, SendPayload, SenderName, SenderOffer,
    ServerKey, StoreError, TemplateOffer, TemplateValue, ThreadCaps, ValueOffer,
};

pub(crate) struct Desk {
    sends: Arc<dyn SendLog>,
    replies: Arc<dyn ReplyLog>,
}

impl Desk {
    pub(crate) fn over(store: &store::Store) -> Arc<dyn SendDesk> {
        Arc::new(Self {
            sends: Arc::clone(&store.sends),
            replies: Arc::clone(&store.replies),
        })
    }
}

/// Few enough for a test.
const CAPS: ThreadCaps = ThreadCaps {
    burst_window: Duration::from_mins(5),
    burst: 3,
    day: 20,
    person_burst: 10,
    person_day: 60,
    callback: None,
};

#[async_trait]
impl SendDesk for Desk {
    async fn order(&self, order: SendOrder) -> Result<SendOrdered, StoreError> {
        if order.sender.as_str() != "shop" {
            return Ok(SendOrdered::UnknownSender);
        }
        if !["plain", "held"].contains(&order.template.as_str()) {
            return Ok(SendOrdered::UnknownTemplate);
        }
        if order.to.domain() != "example.com" {
            return Ok(SendOrdered::RecipientNotAllowed);
        }
        let Some(TemplateValue::Text(name)) = order.values.get("name") else {
            return Ok(SendOrdered::InvalidValue(InvalidValue {
                field: Some("name".to_owned()),
                rule: "a text",
            }));
        };
        let is_capped = order.to.as_str().starts_with("capped");
        let of = (order.by, order.asked);
        let send = NewSend {
            hold: (order.template == "held").then_some(Duration::from_hours(1)),
            caps: is_capped.then_some(CAP).into_iter().collect(),
            ..new_send(order.sender, order.label, order.to, name, of)
        };
        let recorded = self.sends.record_send(send).await?;
        Ok(SendOrdered::Recorded(recorded))
    }

    fn offers(&self) -> Vec<SenderOffer> {
        let name = ValueOffer {
            name: "name".to_owned(),
            kind: "word",
            choices: Vec::new(),
        };
        let template = |template: &str| TemplateOffer {
            name: template.to_owned(),
            needs_approval: template == "held",
            values: vec![name.clone()],
        };
        vec![SenderOffer {
            name: "shop".parse().unwrap(),
            templates: vec![template("plain"), template("held")],
        }]
    }

    async fn reply(&self, order: ReplyOrder) -> Result<ReplyOrdered, StoreError> {
        let target = self.replies.reply_target(order.message, &order.scope);
        let Some(target) = target.await? else {
            return Ok(ReplyOrdered::UnknownMessage);
        };
        let sender = order.sender.unwrap_or_else(|| "shop".parse().unwrap());
        if sender.as_str() != "shop" {
            return Ok(ReplyOrdered::UnknownSender);
        }
        if order.template != "plain" {
            return Ok(ReplyOrdered::UnknownTemplate);
        }
        if let Some(why) = target.no_reply {
            return Ok(ReplyOrdered::Refused(why));
        }
        let (Some(context), Some(thread)) = (target.context, target.thread) else {
            return Ok(ReplyOrdered::Refused(ReplyRefusal::NotKept));
        };
        let Some(TemplateValue::Text(name)) = order.values.get("name") else {
            return Ok(ReplyOrdered::InvalidValue(InvalidValue {
                field: Some("name".to_owned()),
                rule: "a text",
            }));
        };
        let label = IntentLabel {
            kind: "reply".to_owned(),
            entity: order.message.to_string(),
            version: 1,
        };
        let to: Recipient = context.from.parse().unwrap();
        let send = new_send(sender, label, to, name, (order.by, order.asked));
        let reply = NewReply {
            send,
            message: order.message,
            inbox: target.inbox,
            thread,
            caps: CAPS,
        };
        let recorded = self.replies.record_reply(reply).await?;
        Ok(ReplyOrdered::Recorded(recorded))
    }
}

fn new_send(
    sender: SenderName,
    label: IntentLabel,
    to: Recipient,
    name: &str,
    (by, asked): (ConsumerId, Option<Request>),
) -> NewSend {
    let intent = Intent::new(label.clone(), Some(to.clone())).unwrap();
    let server = ServerKey::new([7; 32]);
    let key = ProviderKey::derive(&server, &ActionName::mail(), &sender, &intent);
    let mut fingerprint = [0; 32];
    for (to, from) in fingerprint.iter_mut().zip(name.bytes()) {
        *to = from;
    }
    NewSend {
        id: SendId::new(),
        sender,
        provider: "test".to_owned(),
        key,
        label,
        fingerprint,
        to,
        payload: SendPayload::new(name.as_bytes().to_vec()),
        message_id: key.message_id("shop.test"),
        hold: None,
        by,
        asked,
        caps: Vec::new(),
    }
}

/// One send in a window that does not end during the tests.
const CAP: SendCap = SendCap {
    what: CapKind::Recipient,
    subject: [9; 16],
    window: Duration::from_hours(24 * 36_500),
    most: 1,
};
