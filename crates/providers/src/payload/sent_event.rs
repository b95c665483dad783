//! What a provider's event says about a mail that was sent here.

use pipeline::{ProviderKey, Receipt};
use serde_json::Value;

use super::Decoded;

/// A provider has accepted a mail of ours. Only the provider and the recipient know the
/// key, so an event that names it is proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentEvent {
    /// The key of the mail.
    pub key: ProviderKey,
    /// The provider's id of it.
    pub receipt: Option<Receipt>,
}

impl SentEvent {
    /// The event, if this value holds a key: the text of it, an object or a list of pairs
    /// that has it under our name, or a list of texts.
    pub(crate) fn of(held: Option<&Value>, receipt: Option<&str>) -> Option<Self> {
        let key = ProviderKey::from_text(key_in(held?)?)?;
        let receipt = receipt.and_then(Receipt::from_provider);
        Some(Self { key, receipt })
    }
}

/// What is decoded from events: those that are about mail of ours, or nothing.
pub(crate) fn decoded(events: impl IntoIterator<Item = SentEvent>) -> Decoded {
    let events: Vec<SentEvent> = events.into_iter().collect();
    if events.is_empty() {
        Decoded::other_event()
    } else {
        Decoded::Sent(events)
    }
}

fn key_in(held: &Value) -> Option<&str> {
    match held {
        Value::String(key) => Some(key),
        Value::Object(named) => key_in(named.get(ProviderKey::TAG)?),
        Value::Array(list) => list.iter().find_map(|item| match item {
            Value::Object(pair) => {
                let name = pair.get("name")?.as_str()?;
                let is_ours =
                    name == ProviderKey::TAG || name.eq_ignore_ascii_case(ProviderKey::HEADER);
                pair.get("value")?.as_str().filter(|_| is_ours)
            }
            other => other.as_str(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_is_found_in_every_form_that_providers_use_and_nothing_else_is_one() {
        let key = format!("ml-{}", "0a".repeat(32));
        for held in [
            json!(key),
            json!({ "maillatch": key }),
            json!({ "maillatch": [key] }),
            json!([{ "name": "other", "value": "x" }, { "name": "maillatch", "value": key }]),
            json!([{ "name": "x-maillatch-send", "value": key }]),
            json!([key]),
        ] {
            let event = SentEvent::of(Some(&held), Some("id-1")).expect("a key");
            assert_eq!(event.key.to_string(), key, "{held}");
            assert_eq!(event.receipt.expect("an id").as_str(), "id-1");
        }
        for held in [
            json!(key.replace("ml-", "")),
            json!(format!("{key}0")),
            json!(format!("ml-{}", "0g".repeat(32))),
            json!({ "other": key }),
            json!([{ "name": "other", "value": key }]),
            json!(null),
            json!([]),
        ] {
            assert_eq!(SentEvent::of(Some(&held), None), None, "{held}");
        }
    }
}
