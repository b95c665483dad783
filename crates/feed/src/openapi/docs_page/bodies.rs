//! The bodies on the page: each field with its type and its meaning.

use std::fmt::Write;

use serde_json::Value;

use super::super::html::{at, elements, escape, members, prose};

/// Every schema of the document.
pub(super) fn write_bodies(page: &mut String, document: &Value) {
    for (name, schema) in members(at(document, "/components/schemas")) {
        let name = escape(name);
        let _ = write!(page, "<h3 id={name}>{name}</h3>");
        // The meanings of reasons have a place of their own.
        if !name.ends_with("Reason") {
            let description = prose(at(schema, "/description"));
            let _ = write!(page, "<p>{}</p>", description.replace("\n- ", "<br>"));
        }
        write_words(page, schema);
        write_fields(page, schema);
    }
}

/// The words of a schema that is one of a list.
fn write_words(page: &mut String, schema: &Value) {
    let words: Vec<String> = elements(at(schema, "/enum"))
        .map(|word| format!("<code>{}</code>", escape(word.as_str().unwrap_or_default())))
        .collect();
    if !words.is_empty() {
        let _ = write!(page, "<p>One of {}.</p>", words.join(", "));
    }
}

fn write_fields(page: &mut String, schema: &Value) {
    for part in elements(at(schema, "/allOf")) {
        let _ = write!(page, "<p>{}</p>", type_name(part));
        write_fields(page, part);
    }
    let properties = at(schema, "/properties");
    if properties.is_null() {
        return;
    }
    let required: Vec<&Value> = elements(at(schema, "/required")).collect();
    page.push_str("<dl>");
    for (name, property) in members(properties) {
        let is_required = required.iter().any(|one| *one == name);
        let note = if is_required { "" } else { ", optional" };
        let _ = write!(
            page,
            "<dt><code>{}</code> ({}{note})<dd>{}",
            escape(name),
            type_name(property),
            prose(at(property, "/description")),
        );
        write_words(page, property);
    }
    page.push_str("</dl>");
}

/// The type of a field in a word, or a link to it.
fn type_name(schema: &Value) -> String {
    if let Some(place) = at(schema, "/$ref").as_str() {
        let name = escape(place.rsplit('/').next().unwrap_or_default());
        return format!("<a href=#{name}>{name}</a>");
    }
    let choices = elements(at(schema, "/oneOf")).filter(|one| *at(one, "/type") != "null");
    let choices: Vec<String> = choices.map(type_name).collect();
    if !choices.is_empty() {
        return choices.join(" or ");
    }
    let kinds = match at(schema, "/type") {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
        kind => Some(kind),
    };
    match kinds.and_then(Value::as_str) {
        Some("array") => format!("list of {}", type_name(at(schema, "/items"))),
        Some(kind) => escape(kind),
        None => "object".to_owned(),
    }
}
