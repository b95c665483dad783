//! `/`: a small page for a person, and links for a machine.

use std::fmt::Write;

use serde_json::{Value, json};

use super::html::STYLE;

const SERVICE: &str = "Maillatch receives verification mail and gives an agent, or a test, the one \
                       code or link it waits for, at most once.";

/// What there is to go on with: name, path, and what it is.
const PLACES: [(&str, &str, &str); 6] = [
    ("docs", "/docs", "how to get a code, and the whole API"),
    ("openapi", "/openapi.json", "the same for generators"),
    ("llms", "/llms.txt", "the same for a model that reads"),
    ("skill", "/SKILL.md", "a skill for agents"),
    ("mcp", "/mcp", "tools for a model, over MCP"),
    (
        "attempts",
        "/v1/attempts",
        "where an attempt is opened, by POST",
    ),
];

/// The links of the machine's answer.
pub(super) fn links() -> Value {
    let links: serde_json::Map<String, Value> = PLACES
        .iter()
        .map(|(name, path, _)| ((*name).to_owned(), json!(path)))
        .collect();
    json!({ "service": "maillatch", "description": SERVICE, "links": links })
}

/// The page.
pub(super) fn page() -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Maillatch</title>\
         <meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <style>{STYLE}</style><h1>Maillatch</h1><p>{SERVICE}</p><p>This server works. It has no \
         web interface: agents and tests use its API.</p><dl>"
    );
    for (_, path, meaning) in PLACES {
        let _ = match path {
            // These two answer no plain GET.
            "/mcp" | "/v1/attempts" => {
                write!(page, "<dt><code>{path}</code><dd>{meaning}")
            }
            _ => write!(page, "<dt><a href={path}>{path}</a><dd>{meaning}"),
        };
    }
    page.push_str("</dl>");
    page
}
