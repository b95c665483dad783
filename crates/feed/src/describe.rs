//! The API's description: `OpenAPI` 3.1, made from what the code reads and writes.
//!
//! Bodies come from the types themselves, paths and scopes from the table that
//! lets requests in, problems from the closed list. What is added here is what a
//! type cannot say: which of them belongs where.

mod operation;
mod words;

use std::collections::BTreeMap;

use actix_web::ResponseError;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::access::{Access, TABLE};
use crate::attempt::described as attempt;
use crate::problem::{Document, Problem};
use crate::{Policy, Settings, consume, inbox, item, list, operator};

use operation::{OPERATIONS, Operation};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Maillatch",
        description = "Verification mail for agents: open an attempt, wait, consume its one code \
                       or link at most once. Nothing that a stranger wrote is in any answer save a \
                       value that passed the gate.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(
        attempt::Wish,
        attempt::ConsumeWish,
        attempt::Disclosure<'static>,
        attempt::Report,
        attempt::Grant,
        attempt::Told,
        inbox::Wish,
        inbox::Shown,
        inbox::Page,
        list::Page,
        item::Item,
        operator::Wish,
        operator::Shown,
        operator::Fresh,
        operator::Page,
        consume::Nothing,
        consume::Disclosure<'static>,
        Document<'static>,
    ))
)]
struct Bodies;

/// The whole document.
pub(crate) fn document(settings: &Settings, policy: &Policy) -> Value {
    let mut document = serde_json::to_value(Bodies::openapi()).unwrap_or_default();
    words::bound(&mut document, settings, policy);
    words::close(&mut document);
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for access in TABLE {
        let told = OPERATIONS.iter().find(|told| told.is_for(access));
        if let Some(told) = told {
            let path = paths.entry(access.path).or_default();
            let method = access.method.to_ascii_lowercase();
            path.insert(method, operation(access, told, settings));
        }
    }
    if let Some(members) = document.as_object_mut() {
        members.insert("paths".to_owned(), json!(paths));
        members.insert("security".to_owned(), json!([{ "key": [] }]));
    }
    let key = json!({
        "type": "http",
        "scheme": "bearer",
        "description": "A key of `maillatch api-key create` or of the configuration: `mlk_…`",
    });
    if let Some(components) = document
        .pointer_mut("/components")
        .and_then(Value::as_object_mut)
    {
        components.insert("securitySchemes".to_owned(), json!({ "key": key }));
    }
    document
}

fn operation(access: &Access, told: &Operation, settings: &Settings) -> Value {
    let mut operation = json!({
        "operationId": told.id,
        "summary": told.summary,
        "description": format!("Needs the scope `{}`.", access.permission.as_str()),
        "parameters": parameters(access, told, settings),
        "responses": responses(access, told),
    });
    if let (Some(body), Some(members)) = (told.body, operation.as_object_mut()) {
        let content = json!({ "application/json": { "schema": reference(body) } });
        let body = json!({ "required": told.needs_body, "content": content });
        members.insert("requestBody".to_owned(), body);
    }
    operation
}

fn parameters(access: &Access, told: &Operation, settings: &Settings) -> Vec<Value> {
    let in_path = told.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({ "name": name, "in": "path", "required": true, "schema": text(name) }))
    });
    let in_query = access.query.iter().map(|&name| {
        let schema = match name {
            "limit" => json!({ "type": "integer", "minimum": 1, "maximum": settings.page_limit }),
            "wait" => {
                let most = settings.wait_limit.as_secs();
                json!({ "type": "integer", "minimum": 0, "maximum": most })
            }
            name => text(name),
        };
        let is_required = name == "inbox";
        json!({ "name": name, "in": "query", "required": is_required, "schema": schema })
    });
    let in_headers = told.headers(access).map(|(name, is_required, description)| {
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

/// A text whose form its name tells.
fn text(name: &str) -> Value {
    let description = match name {
        "inbox" => "The address of an inbox.",
        "artifact" => "The id of an artifact, `art_…`.",
        "attempt" => "The id of an attempt, `att_…`.",
        "name" => "The consumer that a key speaks for.",
        _ => "The cursor of an earlier answer; without it, the beginning.",
    };
    json!({ "type": "string", "minLength": 1, "description": description })
}

fn responses(access: &Access, told: &Operation) -> Map<String, Value> {
    let mut all = Map::new();
    for &(status, bodies, description) in told.answers {
        let content = match bodies {
            [] => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
            [one] => json!({ "application/json": { "schema": reference(one) } }),
            many => {
                let any: Vec<Value> = many.iter().map(|name| reference(name)).collect();
                json!({ "application/json": { "schema": { "anyOf": any } } })
            }
        };
        let mut headers = limit_headers();
        if told.replays() {
            let told = "`true` when the same request was answered before.";
            headers.insert("Idempotency-Replayed".to_owned(), header(told));
        }
        if access.query.contains(&"wait") {
            let told = "`wait=N`: for how long a wait that was preferred may have taken.";
            headers.insert("Preference-Applied".to_owned(), header(told));
        }
        let answer = json!({ "description": description, "headers": headers, "content": content });
        all.insert(status.to_string(), answer);
    }
    let refusals = told.refusals(access);
    let problems = Problem::all();
    for status in problems.iter().map(|it| it.status_code().as_u16()) {
        let of_status = problems.iter().filter(|problem| {
            problem.status_code().as_u16() == status && refusals.contains(&problem.slug())
        });
        let of_status: Vec<&Problem> = of_status.collect();
        if !of_status.is_empty() {
            all.insert(status.to_string(), refusal(status, &of_status));
        }
    }
    all
}

/// These problems of a status, with their sentences.
fn refusal(status: u16, problems: &[&Problem]) -> Value {
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("`{}`: {problem}.", problem.slug()))
        .collect();
    let mut headers = limit_headers();
    match status {
        401 => {
            headers.insert("WWW-Authenticate".to_owned(), header("`Bearer`."));
        }
        429 | 503 => {
            let told = "In how many seconds to ask again.";
            headers.insert("Retry-After".to_owned(), header(told));
        }
        _ => {}
    }
    json!({
        "description": told.join(" "),
        "headers": headers,
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    })
}

fn limit_headers() -> Map<String, Value> {
    let policy = "The budget: its name, requests and seconds, `\"reads\";q=6000;w=60`.";
    let left = "What is left of it, and when it is full again, `\"reads\";r=5999;t=1`.";
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
    fn every_route_is_described_and_nothing_else_is() {
        for access in TABLE {
            let told = OPERATIONS.iter().filter(|told| told.is_for(access));
            assert_eq!(told.count(), 1, "{} {}", access.method, access.path);
        }
        assert_eq!(OPERATIONS.len(), TABLE.len());
    }

    #[test]
    fn every_reference_leads_somewhere() {
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
    fn every_problem_belongs_to_an_operation_and_every_refusal_is_a_problem() {
        let known: Vec<&str> = Problem::all().iter().map(Problem::slug).collect();
        let mut met = vec!["method-not-allowed"];
        for access in TABLE {
            let told = OPERATIONS.iter().find(|told| told.is_for(access)).unwrap();
            met.extend(told.refusals(access));
        }
        for slug in &met {
            assert!(known.contains(slug), "{slug}");
        }
        for slug in known {
            assert!(met.contains(&slug), "{slug}");
        }
    }
}
