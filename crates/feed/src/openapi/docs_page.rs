//! `/docs`: the document as a page for people. It begins with how to get a code.

mod bodies;
mod operations;

use std::fmt::Write;

use pipeline::Reason;
use serde_json::Value;

use super::html::{STYLE, at, elements, escape, members, prose};

use bodies::write_bodies;
use operations::{write_operation, write_webhook};

/// The steps to a code: what to do, the command, and its answer. Tests run the commands.
const STEPS: [(&str, &str, &str); 4] = [
    (
        "Say where the server is and who you are. On the server's own machine, in the folder \
         where it was started, `maillatch env` prints both.",
        "eval \"$(maillatch env)\"",
        "",
    ),
    (
        "Open an attempt before the site sends its mail. Name the domain that the mail will come \
         from.",
        "curl -s \"$MAILLATCH_URL/v1/attempts\" \\\n  \
         -H \"Authorization: Bearer $MAILLATCH_KEY\" \\\n  \
         -d '{\"kind\": \"code\", \"from\": [\"example.com\"]}'",
        "{\"id\": \"att_0193f2c44d5a\", \"inbox\": \"kx7mz2-dvq9t4hw@inbox.test\", \"state\": \"pending\", ...}",
    ),
    (
        "Give the address in `inbox` to the site, and let it send its mail. Without a site, \
         `trigger` posts a signed sample.",
        "maillatch trigger otp --to \"$ADDRESS\"",
        "",
    ),
    (
        "Wait for the code and consume it, in one request. A retry with the same \
         `Idempotency-Key` gets the same answer; every other caller gets 409.",
        "curl -s \"$MAILLATCH_URL/v1/attempts/$ATTEMPT/consume\" \\\n  \
         -H \"Authorization: Bearer $MAILLATCH_KEY\" \\\n  \
         -H \"Idempotency-Key: any-text-you-choose\" \\\n  \
         -d '{\"wait\": 25}'",
        "{\"state\": \"consumed\", \"kind\": \"code\", \"value\": \"493817\", ...}",
    ),
];

/// What `next` of an answer without a value asks for.
const NEXT: [(&str, &str); 6] = [
    ("wait", "ask again with a wait"),
    ("consume", "consume the value"),
    (
        "resend",
        "ask `/resend`, then request another mail from the site",
    ),
    ("open", "open another attempt"),
    (
        "tell_operator",
        "the agent cannot solve it; tell the operator",
    ),
    ("nothing", "it is done"),
];

/// The document as a page.
pub(super) fn page(document: &Value) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Maillatch API</title>\
         <meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <style>{STYLE}</style><h1>Maillatch API</h1>"
    );
    write_first_code(&mut page);
    let _ = write!(
        page,
        "<h2>The whole API</h2><p>{}</p><p>For generators: \
         <a href=/openapi.json>openapi.json</a>. For models: <a href=/llms.txt>llms.txt</a>.</p><nav>",
        prose(at(document, "/info/description"))
    );
    for tag in elements(at(document, "/tags")) {
        let name = escape(at(tag, "/name").as_str().unwrap_or_default());
        let _ = write!(page, "<a href=#{name}>{name}</a>");
    }
    page.push_str("<a href=#reasons>reasons</a><a href=#bodies>bodies</a></nav>");
    for tag in elements(at(document, "/tags")) {
        write_group(&mut page, document, tag);
    }
    page.push_str("<h2 id=reasons>Reasons</h2><dl>");
    for (word, meaning) in Reason::FOR_AGENTS {
        let meaning = prose(&Value::from(*meaning));
        let _ = write!(page, "<dt><code>{word}</code><dd>{meaning}");
    }
    page.push_str("</dl><h2 id=bodies>Bodies</h2>");
    write_bodies(&mut page, document);
    page
}

fn write_first_code(page: &mut String) {
    page.push_str("<h2>Get a code</h2><ol>");
    for (step, command, answer) in STEPS {
        let (step, command) = (prose(&Value::from(step)), escape(command));
        let _ = write!(page, "<li>{step}<pre>{command}</pre>");
        if !answer.is_empty() {
            let _ = write!(page, "<p>Answer:<pre>{}</pre>", escape(answer));
        }
    }
    page.push_str(
        "</ol><p>Without a value, the answer says why (<code>reason</code>) and what to do next \
         (<code>next</code>):<dl>",
    );
    for (word, meaning) in NEXT {
        let meaning = prose(&Value::from(meaning));
        let _ = write!(page, "<dt><code>{word}</code><dd>{meaning}");
    }
    page.push_str("</dl>");
}

/// The operations of one group.
fn write_group(page: &mut String, document: &Value, tag: &Value) {
    let name = at(tag, "/name");
    let id = escape(name.as_str().unwrap_or_default());
    let description = prose(at(tag, "/description"));
    let _ = write!(page, "<h2 id={id}>{id}</h2><p>{description}</p>");
    let is_of_group = |operation: &Value| at(operation, "/tags/0") == name;
    for (path, methods) in members(at(document, "/paths")) {
        for (method, operation) in members(methods).filter(|(_, it)| is_of_group(it)) {
            let title = format!("{} {path}", method.to_uppercase());
            write_operation(page, &title, operation);
        }
    }
    for (_, methods) in members(at(document, "/webhooks")) {
        for (_, operation) in members(methods).filter(|(_, it)| is_of_group(it)) {
            write_webhook(page, operation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_next_step_of_the_document_is_explained() {
        let document = crate::openapi::document::document(
            &crate::settings::Settings::default(),
            &crate::policy::Policy::default(),
        );
        let words = at(&document, "/components/schemas/Next/enum");
        let words: Vec<&str> = elements(words).filter_map(Value::as_str).collect();
        assert_eq!(words, NEXT.map(|(word, _)| word));
    }
}
