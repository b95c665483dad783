//! The `OpenAPI` 3.1 document, built from what the code reads and writes.
//!
//! Bodies come from their types, paths and scopes from the access table, problems from
//! the complete list. This file adds what a type cannot express: which body and which
//! problem belongs to which operation.

use std::collections::BTreeMap;

use actix_web::ResponseError;
use pipeline::SendState;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::constraints::{add_request_rules, add_response_words};
use super::operation::{Operation, operations};
use crate::http::access::{Access, TABLE};
use crate::http::body::EmptyBody;
use crate::http::problem::{Document, Problem};
use crate::policy::Policy;
use crate::settings::Settings;
use crate::{attempt, audit, guard, inbox, items, keys, send};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Maillatch",
        description = "Verification mail for agents: open an attempt, wait, and consume its one \
                       code or link at most once. No response contains text that the sender of \
                       a mail wrote, except a value that passed the checks.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(
        attempt::OpenRequestBody,
        attempt::ConsumeRequestBody,
        attempt::AttemptDisclosureBody<'static>,
        attempt::FinishRequestBody,
        attempt::ResendBody,
        attempt::AttemptBody,
        guard::ClaimRequestBody,
        guard::ConfirmRequestBody,
        guard::ReleaseRequestBody,
        guard::ExtendRequestBody,
        guard::GuardBody,
        guard::GuardClaimBody,
        send::SendRequestBody,
        send::BatchRequestBody,
        send::BatchBody,
        send::SettleRequestBody,
        send::SendBody,
        send::SendPageBody,
        inbox::InboxRequestBody,
        inbox::InboxBody,
        inbox::InboxPageBody,
        items::PageBody,
        items::ItemBody,
        keys::KeyRequestBody,
        keys::KeyBody,
        keys::NewKeyBody,
        audit::ConsumePageBody,
        keys::KeyPageBody,
        EmptyBody,
        items::DisclosureBody<'static>,
        Document<'static>,
    ))
)]
struct Bodies;

/// The whole document.
pub(super) fn document(settings: &Settings, policy: &Policy) -> Value {
    let mut document = serde_json::to_value(Bodies::openapi()).unwrap_or_default();
    add_request_rules(&mut document, settings, policy);
    add_response_words(&mut document);
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for access in TABLE {
        let operation = operations().find(|it| it.is_for(access));
        if let Some(operation) = operation {
            let path = paths.entry(access.path).or_default();
            let method = access.method.to_ascii_lowercase();
            path.insert(method, describe(access, operation, settings));
        }
    }
    if let Some(members) = document.as_object_mut() {
        members.insert("paths".to_owned(), json!(paths));
        members.insert("security".to_owned(), json!([{ "key": [] }]));
    }
    let key = json!({
        "type": "http",
        "scheme": "bearer",
        "description": "A key from `maillatch api-key create` or from the configuration: `mlk_…`",
    });
    if let Some(components) = document
        .pointer_mut("/components")
        .and_then(Value::as_object_mut)
    {
        components.insert("securitySchemes".to_owned(), json!({ "key": key }));
    }
    document
}

fn describe(access: &Access, operation: &Operation, settings: &Settings) -> Value {
    let mut description = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "description": format!("Needs the scope `{}`.", access.permission.as_str()),
        "parameters": parameters(access, operation, settings),
        "responses": responses(access, operation),
    });
    if let (Some(body), Some(members)) = (operation.body, description.as_object_mut()) {
        let content = json!({ "application/json": { "schema": reference(body) } });
        let body = json!({ "required": operation.needs_body, "content": content });
        members.insert("requestBody".to_owned(), body);
    }
    description
}

fn parameters(access: &Access, operation: &Operation, settings: &Settings) -> Vec<Value> {
    let in_path = operation.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({ "name": name, "in": "path", "required": true, "schema": text(name) }))
    });
    let in_query = access.query.iter().map(|&name| {
        let schema = match name {
            "limit" => json!({ "type": "integer", "minimum": 1, "maximum": settings.page_limit }),
            "wait" => {
                let max = settings.wait_limit.as_secs();
                json!({ "type": "integer", "minimum": 0, "maximum": max })
            }
            "sender" => json!({
                "type": "string", "enum": ["domain", "full"],
                "description": "`full` shows the whole address of a sender that is proven.",
            }),
            "state" => {
                json!({ "type": "string", "enum": SendState::ALL.map(SendState::as_str) })
            }
            name => text(name),
        };
        let is_required = name == "inbox";
        json!({ "name": name, "in": "query", "required": is_required, "schema": schema })
    });
    let in_headers = operation.headers(access).map(|(name, is_required, description)| {
        let schema = match name {
            "Idempotency-Key" => {
                json!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$" })
            }
            _ => json!({ "type": "string" }),
        };
        json!({
            "name": name, "in": "header", "required": is_required,
            "description": description, "schema": schema,
        })
    });
    in_path.chain(in_query).chain(in_headers).collect()
}

/// The schema of a text parameter.
fn text(name: &str) -> Value {
    let description = match name {
        "inbox" => "The address of an inbox.",
        "artifact" => "The id of an artifact, `art_…`.",
        "attempt" => "The id of an attempt, `att_…`.",
        "guard" => "The id of a guard, `grd_…`.",
        "send" => "The id of a send, `snd_…`; to settle it also `grd_…`.",
        "before" => "The id of the last one of the page before.",
        "name" => "The consumer that a key stands for.",
        "from" => "Domains, separated by commas. A sender that lies in one is shown as that one.",
        _ => "The cursor of an earlier response. Without it the list begins with the oldest item.",
    };
    json!({ "type": "string", "minLength": 1, "description": description })
}

fn responses(access: &Access, operation: &Operation) -> Map<String, Value> {
    let mut all = Map::new();
    for &(status, bodies, description) in operation.answers {
        let content = match bodies {
            [] => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
            [one] => json!({ "application/json": { "schema": reference(one) } }),
            many => {
                let any: Vec<Value> = many.iter().map(|name| reference(name)).collect();
                json!({ "application/json": { "schema": { "anyOf": any } } })
            }
        };
        let mut headers = limit_headers();
        if operation.replays() {
            let text = "`true` if this repeats the response to the same request.";
            headers.insert("Idempotency-Replayed".to_owned(), header(text));
        }
        if access.query.contains(&"wait") {
            let text = "`wait=N`: the wait of the `Prefer` header, reduced to the limit.";
            headers.insert("Preference-Applied".to_owned(), header(text));
        }
        let response =
            json!({ "description": description, "headers": headers, "content": content });
        all.insert(status.to_string(), response);
    }
    let possible = operation.problems(access);
    let problems = Problem::all();
    for status in problems.iter().map(|it| it.status_code().as_u16()) {
        let of_status = problems.iter().filter(|problem| {
            problem.status_code().as_u16() == status && possible.contains(&problem.slug())
        });
        let of_status: Vec<&Problem> = of_status.collect();
        if !of_status.is_empty() {
            all.insert(status.to_string(), problem_response(status, &of_status));
        }
    }
    all
}

/// The response with these problems of one status.
fn problem_response(status: u16, problems: &[&Problem]) -> Value {
    let sentences: Vec<String> = problems
        .iter()
        .map(|problem| format!("`{}`: {problem}.", problem.slug()))
        .collect();
    let mut headers = limit_headers();
    match status {
        401 => {
            headers.insert("WWW-Authenticate".to_owned(), header("`Bearer`."));
        }
        409 if problems
            .iter()
            .any(|problem| problem.slug() == "in-progress") =>
        {
            let text = "In how many seconds to ask again, for `in-progress`.";
            headers.insert("Retry-After".to_owned(), header(text));
        }
        429 | 503 => {
            let text = "In how many seconds to retry.";
            headers.insert("Retry-After".to_owned(), header(text));
        }
        _ => {}
    }
    json!({
        "description": sentences.join(" "),
        "headers": headers,
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    })
}

fn limit_headers() -> Map<String, Value> {
    let policy = "The rate limit: its name, requests and seconds, `\"reads\";q=6000;w=60`.";
    let left = "What is left, and in how many seconds it is full, `\"reads\";r=5999;t=1`.";
    Map::from_iter([
        ("RateLimit-Policy".to_owned(), header(policy)),
        ("RateLimit".to_owned(), header(left)),
    ])
}

fn header(description: &str) -> Value {
    json!({ "description": description, "schema": { "type": "string" } })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openapi_describes_every_route_once() {
        for access in TABLE {
            let operations = operations().filter(|it| it.is_for(access));
            assert_eq!(operations.count(), 1, "{} {}", access.method, access.path);
        }
        assert_eq!(operations().count(), TABLE.len());
    }

    #[test]
    fn every_schema_reference_exists() {
        let document = document(&Settings::default(), &Policy::default());
        let text = document.to_string();
        for name in text.split("#/components/schemas/").skip(1) {
            let name = name.split('"').next().unwrap();
            let schema = document.pointer(&format!("/components/schemas/{name}"));
            assert!(schema.is_some(), "{name}");
        }
        assert_eq!(document["openapi"], "3.1.0");
    }

    #[test]
    fn every_problem_is_listed_for_an_operation() {
        let known: Vec<&str> = Problem::all().iter().map(Problem::slug).collect();
        let mut listed = vec!["method-not-allowed"];
        for access in TABLE {
            let operation = operations().find(|it| it.is_for(access)).unwrap();
            listed.extend(operation.problems(access));
        }
        for slug in &listed {
            assert!(known.contains(slug), "{slug}");
        }
        for slug in known {
            assert!(listed.contains(&slug), "{slug}");
        }
    }
}
