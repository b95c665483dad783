//! Examples of guards and sends.

use serde_json::{Value, json};

use super::set;

const GUARD: &str = "grd_0193f2c44d5a7c11a3b0c9d8e7f60515";
const SEND: &str = "snd_0193f2c44d5a7c11a3b0c9d8e7f60516";
const MESSAGE: &str = "msg_0193f2c44d5a7c11a3b0c9d8e7f60517";
const THREAD: &str = "thr_5d1c2b3a4f5e6d7c8b9a0f1e2d3c4b5a";
const TOKEN: &str = "clm_5b7c1d0e9f8a4b6c8d2e3f4a5b6c7d8e";
const CREATED: &str = "2026-01-01T00:00:00.000Z";
const ENDED: &str = "2026-01-01T00:00:03.000Z";
const DEADLINE: &str = "2026-01-01T00:05:00.000Z";

/// The body of a request.
pub(super) fn request(operation: &str) -> Option<Value> {
    Some(match operation {
        "claimGuard" => json!({
            "sender": "shop", "kind": "ticket", "lease": 300,
            "intent": { "type": "ticket.open", "entity": "order_4821", "version": 1 },
        }),
        "confirmGuard" => json!({ "token": TOKEN, "result": "ticket-77" }),
        "releaseGuard" => json!({ "token": TOKEN, "not_done": true }),
        "extendGuard" => json!({ "token": TOKEN, "lease": 300 }),
        "sendMail" => wish(),
        "sendMails" => json!({ "sends": [wish()] }),
        "settleSend" => json!({ "outcome": "sent", "result": "provider-id-1" }),
        "cancelSend" | "approveSend" | "refuseSend" | "releaseThread" => json!({}),
        "replyToMessage" => json!({ "template": "shipped", "values": { "order": "4821" } }),
        "setRules" => rules(),
        _ => return None,
    })
}

/// The body of a response, by the name of its schema.
pub(super) fn response(body: &str) -> Option<Value> {
    Some(match body {
        "Guard" => guard(),
        "GuardClaim" => {
            let mut claim = guard();
            set(&mut claim, "token", json!(TOKEN));
            set(&mut claim, "provider_key", json!("ml-a7fb0122d768f3df"));
            set(&mut claim, "expires_in", json!(300));
            claim
        }
        "Send" => send(),
        "InboundRules" => rules(),
        "Message" => json!({
            "id": MESSAGE, "inbox": "agent@inbox.example.com", "sender_domain": "example.com",
            "sender_proven": true, "flags": [], "received_at": CREATED, "rules": [],
            "thread": { "id": THREAD, "state": "open" },
        }),
        "Thread" => thread(),
        "ThreadPage" => json!({ "items": [thread()] }),
        "SenderPage" => json!({
            "items": [{ "name": "shop", "templates": [{
                "name": "shipped", "needs_approval": false,
                "values": [{ "name": "order", "type": "id" }],
            }] }],
            "scopes": ["send"],
        }),
        "SendPage" => json!({ "items": [send()] }),
        "SendBatch" => json!({ "items": [{ "status": 201, "send": send() }] }),
        _ => return None,
    })
}

fn wish() -> Value {
    json!({
        "sender": "shop", "to": "user@example.com", "template": "order_confirmation",
        "intent": { "type": "order.confirmation", "entity": "order_4821", "version": 1 },
        "values": { "order": "4821" },
    })
}

fn rules() -> Value {
    json!({
        "rules": [{ "name": "newsletters", "list": true, "action": "label", "label": "news" }],
    })
}

fn thread() -> Value {
    json!({
        "id": THREAD, "inbox": "agent@inbox.example.com", "state": "handed_over",
        "reason": "thread_burst", "message": MESSAGE, "replies": 3, "handed_over_at": ENDED,
    })
}

fn guard() -> Value {
    json!({
        "id": GUARD, "state": "claimed", "next": "report", "sender": "shop", "kind": "ticket",
        "claims": 1, "deadline": DEADLINE, "created_at": CREATED,
    })
}

fn send() -> Value {
    json!({
        "id": SEND, "state": "sent", "next": "nothing", "sender": "shop", "kind": "mail",
        "intent": { "type": "order.confirmation", "entity": "order_4821", "version": 1 },
        "tries": 1, "result": "provider-id-1", "created_at": CREATED, "finished_at": ENDED,
    })
}
