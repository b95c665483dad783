//! A desk that renders nothing: it knows one sender, one template and one domain of
//! recipients.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ActionName, CapKind, Intent, InvalidValue, NewSend, ProviderKey, SendCap, SendDesk, SendId,
    SendLog, SendOrder, SendOrdered, SendPayload, ServerKey, StoreError, TemplateValue,
};

pub(crate) struct Desk {
    sends: Arc<dyn SendLog>,
}

impl Desk {
    pub(crate) fn over(sends: &Arc<dyn SendLog>) -> Arc<dyn SendDesk> {
        let sends = Arc::clone(sends);
        Arc::new(Self { sends })
    }
}

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
        let intent = Intent::new(order.label.clone(), Some(order.to.clone())).unwrap();
        let server = ServerKey::new([7; 32]);
        let key = ProviderKey::derive(&server, &ActionName::mail(), &order.sender, &intent);
        let mut fingerprint = [0; 32];
        for (to, from) in fingerprint.iter_mut().zip(name.bytes()) {
            *to = from;
        }
        let is_capped = order.to.as_str().starts_with("capped");
        let send = NewSend {
            id: SendId::new(),
            sender: order.sender,
            provider: "test".to_owned(),
            key,
            label: order.label,
            fingerprint,
            to: order.to,
            payload: SendPayload::new(name.clone().into_bytes()),
            message_id: key.message_id("shop.test"),
            hold: (order.template == "held").then_some(Duration::from_hours(1)),
            by: order.by,
            asked: order.asked,
            caps: is_capped.then_some(CAP).into_iter().collect(),
        };
        let recorded = self.sends.record_send(send).await?;
        Ok(SendOrdered::Recorded(recorded))
    }
}

/// One send in a window that does not end during the tests.
const CAP: SendCap = SendCap {
    what: CapKind::Recipient,
    subject: [9; 16],
    window: Duration::from_hours(24 * 36_500),
    most: 1,
};
