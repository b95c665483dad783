//! `/openapi.json`, and `/docs`: the same as a page for people. The page is built once,
//! has no script and loads nothing, so it works without internet access.

use std::fmt::Write;
use std::future::{Ready, ready};

use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpResponse, Resource, ResponseError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::document::document;
use crate::http::problem::Problem;
use crate::http::reply;
use crate::policy::Policy;
use crate::settings::Settings;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem}code,h2{font-family:ui-monospace,monospace}h2{font-size:1rem;margin-top:2.5rem;\
border-top:1px solid #8888;padding-top:1rem}table{border-collapse:collapse;width:100%}\
td{vertical-align:top;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #8883}\
pre{overflow-x:auto;background:#8881;padding:.8rem}@media(prefers-color-scheme:dark){\
body{background:#111;color:#ddd}a{color:#9cf}}";

/// The two routes. They need no key.
pub(crate) fn routes(
    settings: &Settings,
    policy: &Policy,
) -> impl FnOnce(&mut ServiceConfig) + Clone + use<> {
    let document = document(settings, policy);
    let (json, page) = (reply::text(&document), page(&document));
    // The policy allows this one style, by its hash, and nothing else.
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    let policy = format!("default-src 'none'; style-src 'sha256-{hash}'; frame-ancestors 'none'");
    move |config: &mut ServiceConfig| {
        let json = move || ready(respond("application/json", json.clone(), None));
        let page = move || {
            let policy = Some(policy.clone());
            ready(respond("text/html; charset=utf-8", page.clone(), policy))
        };
        config
            .service(readable("/openapi.json", json))
            .service(readable("/docs", page));
    }
}

/// A page that answers GET and HEAD.
fn readable<F>(path: &str, page: F) -> Resource
where
    F: Fn() -> Ready<HttpResponse> + Clone + 'static,
{
    web::resource(path)
        .route(web::get().to(page.clone()))
        .route(web::head().to(page))
        .default_service(web::to(async || {
            reply::guarded(Problem::MethodNotAllowed("GET, HEAD".to_owned()).error_response())
        }))
}

fn respond(content_type: &'static str, body: String, policy: Option<String>) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.content_type(content_type);
    if let Some(policy) = policy {
        response.insert_header(("Content-Security-Policy", policy));
    }
    reply::guarded(response.body(body))
}

/// The document as a page.
fn page(document: &Value) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Maillatch API</title>\
         <meta name=viewport content=\"width=device-width\"><style>{STYLE}</style>\
         <h1>Maillatch API</h1><p>{}</p><p>For machines: \
         <a href=/openapi.json>openapi.json</a></p>",
        escaped(at(document, "/info/description"))
    );
    for (path, methods) in members(at(document, "/paths")) {
        for (method, operation) in members(methods) {
            let title = format!("{} {path}", method.to_uppercase());
            let _ = write!(page, "<h2>{}</h2>", escape(&title));
            write_operation(&mut page, operation);
        }
    }
    page.push_str("<h1>Bodies</h1>");
    for (name, schema) in members(at(document, "/components/schemas")) {
        let text = serde_json::to_string_pretty(schema).unwrap_or_default();
        let (name, text) = (escape(name), escape(&text));
        let _ = write!(page, "<h2 id={name}>{name}</h2><pre>{text}</pre>");
    }
    page
}

fn write_operation(page: &mut String, operation: &Value) {
    let (summary, needs) = (at(operation, "/summary"), at(operation, "/description"));
    let _ = write!(
        page,
        "<p>{}. {}</p><table>",
        escaped(summary),
        escaped(needs)
    );
    for parameter in at(operation, "/parameters")
        .as_array()
        .into_iter()
        .flatten()
    {
        let note = if *at(parameter, "/required") == true {
            "required"
        } else {
            ""
        };
        let description = match at(parameter, "/description") {
            Value::Null => at(parameter, "/schema/description"),
            description => description,
        };
        let cells = (
            escaped(at(parameter, "/name")),
            escaped(at(parameter, "/in")),
        );
        let _ = write!(
            page,
            "<tr><td><code>{}</code><td>{}<td>{note}<td>{}",
            cells.0,
            cells.1,
            escaped(description)
        );
    }
    let body = at(
        operation,
        "/requestBody/content/application~1json/schema/$ref",
    );
    if let Some(name) = body.as_str().and_then(|path| path.rsplit('/').next()) {
        let name = escape(name);
        let _ = write!(page, "<tr><td>body<td><td><td><a href=#{name}>{name}</a>");
    }
    for (status, response) in members(at(operation, "/responses")) {
        let description = escaped(at(response, "/description"));
        let _ = write!(
            page,
            "<tr><td><code>{}</code><td><td><td>{description}",
            escape(status)
        );
    }
    page.push_str("</table>");
}

/// The value at a JSON pointer, or null.
fn at<'v>(value: &'v Value, place: &str) -> &'v Value {
    value.pointer(place).unwrap_or(&Value::Null)
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn escaped(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

/// Escapes HTML markup and non-ASCII characters as numeric references.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() && !matches!(letter, '&' | '<' | '>' | '"') {
            escaped.push(letter);
        } else {
            let _ = write!(escaped, "&#{};", u32::from(letter));
        }
    }
    escaped
}
