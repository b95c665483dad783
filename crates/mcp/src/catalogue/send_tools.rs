//! The tools that send mail, as a model reads them. Senders and templates are the
//! operator's, so their names are part of the description.

use client::{OfferedTemplate, OfferedValue, SenderList};
use rmcp::model::Tool;
use serde_json::{Value, json};

use super::{Effect, object, text, timeout, tool};

/// How many templates are described. Each costs every conversation tokens.
const DESCRIBED: usize = 12;

/// The tools for what a key may send.
pub(super) fn send_tools(senders: &SenderList) -> Vec<Tool> {
    let has = |scope: &str| senders.scopes.iter().any(|own| own == scope);
    if senders.items.is_empty() || !(has("send") || has("reply")) {
        return Vec::new();
    }
    let mut tools = Vec::new();
    if has("send") {
        tools.push(send_mail(senders));
    }
    if has("reply") {
        tools.push(reply(senders));
    }
    tools.push(send_status());
    tools
}

fn send_mail(senders: &SenderList) -> Tool {
    let input = object(
        &json!({
            "sender": sender(senders),
            "purpose": {
                "type": "string",
                "description": "What the mail is for, like order.shipped",
            },
            "entity": {
                "type": "string",
                "description": "What it is about, like order_4821",
            },
            "version": {
                "type": "integer",
                "default": 1,
                "description": "Only for another mail about the same",
            },
            "to": text(),
            "template": template(senders),
            "values": { "type": "object" },
        }),
        &["sender", "purpose", "entity", "to", "template"],
    );
    tool(
        "send_mail",
        "Sends a mail by a template, once for each purpose, entity, version and recipient. \
         Safe to repeat.",
        [input, sent()],
        Effect::Sends,
    )
}

fn reply(senders: &SenderList) -> Tool {
    let input = object(
        &json!({
            "message_id": { "type": "string", "description": "From explain_attempt" },
            "sender": sender(senders),
            "template": template(senders),
            "values": { "type": "object" },
        }),
        &["message_id", "template"],
    );
    tool(
        "reply",
        "Answers a message by a template, at most once. Safe to repeat.",
        [input, sent()],
        Effect::Sends,
    )
}

fn send_status() -> Tool {
    let input = object(
        &json!({ "send_id": text(), "timeout_s": timeout() }),
        &["send_id"],
    );
    tool(
        "send_status",
        "Waits until a mail is sent, or says why not.",
        [input, sent()],
        Effect::Reads,
    )
}

/// The answer of each of these tools.
fn sent() -> Value {
    object(
        &json!({
            "status": { "type": "string", "description": "sent, held, uncertain, …" },
            "send_id": text(),
            "duplicate": { "type": "boolean" },
            "same_content": { "type": "boolean" },
            "reason": text(),
            "next": text(),
        }),
        &["status", "next"],
    )
}

fn sender(senders: &SenderList) -> Value {
    let names: Vec<&str> = senders
        .items
        .iter()
        .map(|sender| sender.name.as_str())
        .collect();
    json!({ "enum": names })
}

fn template(senders: &SenderList) -> Value {
    let all = senders.items.iter().flat_map(|sender| &sender.templates);
    let mut described: Vec<String> = all.map(describe).collect();
    described.sort();
    described.dedup();
    described.truncate(DESCRIBED);
    let described = format!("With its values: {}", described.join("; "));
    json!({ "type": "string", "description": described })
}

/// `shipped(order: id, state: paid|sent)`.
fn describe(template: &OfferedTemplate) -> String {
    let value = |value: &OfferedValue| {
        let kind = if value.choices.is_empty() {
            value.kind.clone()
        } else {
            value.choices.join("|")
        };
        format!("{}: {kind}", value.name)
    };
    let values: Vec<String> = template.values.iter().map(value).collect();
    format!("{}({})", template.name, values.join(", "))
}

#[cfg(test)]
mod tests {
    use client::OfferedSender;

    use super::*;

    fn senders(scopes: &[&str]) -> SenderList {
        let value = |name: &str, kind: &str, choices: &[&str]| OfferedValue {
            name: name.to_owned(),
            kind: kind.to_owned(),
            choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
        };
        let shipped = OfferedTemplate {
            name: "shipped".to_owned(),
            values: vec![
                value("order", "id", &[]),
                value("state", "choice", &["paid", "sent"]),
            ],
        };
        SenderList {
            items: vec![OfferedSender {
                name: "shop".to_owned(),
                templates: vec![shipped],
            }],
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        }
    }

    fn names(senders: &SenderList) -> Vec<String> {
        let tools = send_tools(senders).into_iter();
        tools.map(|tool| tool.name.to_string()).collect()
    }

    #[test]
    fn tools_exist_only_with_a_sender_and_a_scope() {
        assert_eq!(names(&senders(&["send"])), ["send_mail", "send_status"]);
        assert_eq!(names(&senders(&["reply"])), ["reply", "send_status"]);
        let both = names(&senders(&["send", "reply"]));
        assert_eq!(both, ["send_mail", "reply", "send_status"]);
        assert!(names(&senders(&[])).is_empty());
        let none = SenderList {
            items: Vec::new(),
            ..senders(&["send", "reply"])
        };
        assert!(names(&none).is_empty());
    }

    #[test]
    fn template_is_described_with_its_values() {
        let tools = send_tools(&senders(&["send"]));
        let schema = serde_json::to_string(&tools).unwrap();
        let described = "With its values: shipped(order: id, state: paid|sent)";
        assert!(schema.contains(described), "{schema}");
    }
}
