//! One operation on the page: its parameters, its body and its answers.

use std::fmt::Write;

use serde_json::Value;

use super::super::html::{at, elements, escape, members, prose};

/// An operation, folded up under its method and path.
pub(super) fn write_operation(page: &mut String, title: &str, operation: &Value) {
    let summary = prose(at(operation, "/summary"));
    let _ = write!(
        page,
        "<details><summary><code>{}</code><br>{summary}</summary><p>{}</p><dl>",
        escape(title),
        prose(at(operation, "/description")),
    );
    write_parameters(page, operation);
    write_body(page, operation);
    for (status, response) in members(at(operation, "/responses")) {
        let description = prose(at(response, "/description"));
        let links = schema_links(at(response, "/content/application~1json/schema"));
        let status = escape(status);
        let _ = write!(page, "<dt><code>{status}</code> {links}<dd>{description}");
    }
    page.push_str("</dl></details>");
}

/// A post that this server sends.
pub(super) fn write_webhook(page: &mut String, operation: &Value) {
    write_operation(page, "POST to your callback", operation);
}

fn write_parameters(page: &mut String, operation: &Value) {
    for parameter in elements(at(operation, "/parameters")) {
        let is_required = *at(parameter, "/required") == true;
        let note = if is_required { ", required" } else { "" };
        let description = match at(parameter, "/description") {
            Value::Null => at(parameter, "/schema/description"),
            description => description,
        };
        let (name, place) = (at(parameter, "/name"), at(parameter, "/in"));
        let _ = write!(
            page,
            "<dt><code>{}</code> ({}{note})<dd>{}",
            escape(name.as_str().unwrap_or_default()),
            escape(place.as_str().unwrap_or_default()),
            prose(description),
        );
    }
}

fn write_body(page: &mut String, operation: &Value) {
    let content = at(operation, "/requestBody/content/application~1json");
    if content.is_null() {
        return;
    }
    let links = schema_links(at(content, "/schema"));
    let _ = write!(page, "<dt>body: {links}");
    let example = at(content, "/example");
    if !example.is_null() {
        let example = serde_json::to_string_pretty(example).unwrap_or_default();
        let _ = write!(page, "<dd><pre>{}</pre>", escape(&example));
    }
}

/// Links to the bodies that a schema names.
fn schema_links(schema: &Value) -> String {
    let several = elements(at(schema, "/anyOf"));
    let names = several.chain([schema]).filter_map(|one| {
        let place = at(one, "/$ref").as_str()?;
        let name = escape(place.rsplit('/').next()?);
        Some(format!("<a href=#{name}>{name}</a>"))
    });
    names.collect::<Vec<_>>().join(" or ")
}
