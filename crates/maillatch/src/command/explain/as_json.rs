//! The report as JSON.

use std::fmt::Write as _;

use extract::{Extracted, Extraction};
use serde_json::{Value, json};

/// The report, with the code and the link only if `values` are wanted.
pub(super) fn as_json(mail: &Extracted, values: bool) -> Value {
    let flags: Vec<_> = mail.flags.iter().map(|flag| flag.as_str()).collect();
    json!({
        "sender": { "address": mail.sender.address, "domain": mail.sender.domain },
        "message_id": mail.identity.message_id,
        "content_sha256": hex(&mail.identity.content),
        "flags": flags,
        "automated": mail.reply.automated,
        "list": mail.reply.list,
        "code": verdict(&mail.code, |code| json!({
            "value": values.then_some(&code.value),
            "length": code.compact.len(),
            "confidence": code.confidence,
            "rule": code.rule,
        })),
        "link": verdict(&mail.link, |link| json!({
            "url": values.then_some(&link.url),
            "host": link.host,
            "registrable": link.registrable,
            "kind": link.kind.as_str(),
            "rule": link.rule,
            "unwrapped": link.unwrapped,
            "confidence": link.confidence,
        })),
        "explanation": mail.explanation,
    })
}

fn verdict<T>(verdict: &Extraction<T>, found: impl Fn(&T) -> Value) -> Value {
    match verdict {
        Extraction::Found(artifact) => json!({ "found": found(artifact) }),
        Extraction::Withheld(reason) => json!({ "withheld": reason.as_str() }),
        Extraction::Nothing(reason) => json!({ "nothing": reason.as_str() }),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
