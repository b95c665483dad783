//! Intents, sends and guards for the tests.

use std::time::Duration;

use pipeline::{
    ActionName, ClaimedSend, GuardClaim, GuardClaimed, GuardRequest, Intent, IntentLabel, NewSend,
    ProviderKey, SendId, SendPayload, SendRecorded, SendView, SenderName,
};

use super::SendSubject;
use crate::store_contract::{LONG, must, server_key};

/// A lease that is over at once.
pub(super) const OVER: Duration = Duration::ZERO;

/// The sender in every test.
pub fn shop() -> SenderName {
    must("shop".parse())
}

/// What a mail about this order is for.
pub(super) fn label(entity: &str) -> IntentLabel {
    IntentLabel {
        kind: "order.confirmation".to_owned(),
        entity: entity.to_owned(),
        version: 1,
    }
}

/// The key of the intent to confirm this order.
pub(super) fn key(action: &str, sender: &SenderName, entity: &str) -> ProviderKey {
    let to = must("user@example.com".parse());
    let intent = must(Intent::new(label(entity), Some(to)));
    ProviderKey::derive(&server_key(), &must(action.parse()), sender, &intent)
}

/// A request to act for this order.
pub(super) fn guard(entity: &str) -> GuardRequest {
    GuardRequest {
        sender: shop(),
        action: ActionName::mail(),
        key: key("mail", &shop(), entity),
        label: Some(label(entity)),
        lease: LONG,
        by: must("agent".parse()),
        asked: None,
    }
}

/// The permission to act for this order, for this long.
pub(super) async fn claimed(
    subject: &dyn SendSubject,
    entity: &str,
    lease: Duration,
) -> GuardClaim {
    let request = GuardRequest {
        lease,
        ..guard(entity)
    };
    match must(subject.guards().claim_guard(request).await) {
        GuardClaimed::Yours(claim) => claim,
        other => panic!("{other:?}"),
    }
}

/// A mail for this order.
pub fn new_send(entity: &str) -> NewSend {
    let key = key("mail", &shop(), entity);
    NewSend {
        id: SendId::new(),
        sender: shop(),
        provider: "resend".to_owned(),
        key,
        label: label(entity),
        fingerprint: [1; 32],
        to: must("user@example.com".parse()),
        payload: SendPayload::new(format!("rendered {entity}").into_bytes()),
        message_id: key.message_id("mail.example.com"),
        hold: None,
        by: must("agent".parse()),
        asked: None,
        caps: Vec::new(),
    }
}

/// Records a mail for this order.
pub(super) async fn recorded(subject: &dyn SendSubject, entity: &str) -> SendView {
    match must(subject.sends().record_send(new_send(entity)).await) {
        SendRecorded::New(view) => view,
        other => panic!("{other:?}"),
    }
}

/// The sends that a dispatcher claims now.
pub(super) async fn claim_ready(subject: &dyn SendSubject, lease: Duration) -> Vec<ClaimedSend> {
    must(subject.outbox().claim_ready(&[shop()], 10, lease).await)
}

/// The only send that a dispatcher claims now.
pub(super) async fn claim_one(subject: &dyn SendSubject, lease: Duration) -> ClaimedSend {
    let mut claimed = claim_ready(subject, lease).await;
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    claimed.remove(0)
}

/// The only uncertain send that is to be settled now.
pub(super) async fn claim_uncertain(subject: &dyn SendSubject, lease: Duration) -> ClaimedSend {
    let claimed = subject.outbox().claim_uncertain(&[shop()], 10, lease).await;
    let mut claimed = must(claimed);
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    claimed.remove(0)
}

/// A send as it is now.
pub(super) async fn now(subject: &dyn SendSubject, send: SendId) -> SendView {
    match must(subject.sends().send(send).await) {
        Some(view) => view,
        None => panic!("{send} is gone"),
    }
}
