//! The responses of an operation: its answers and its problems.

use actix_web::ResponseError;
use serde_json::{Map, Value, json};

use super::examples::response_example;
use super::operation::Operation;
use crate::http::access::Access;
use crate::http::problem::Problem;

pub(super) fn responses(access: &Access, operation: &Operation) -> Map<String, Value> {
    let mut all = Map::new();
    for &(status, bodies, description) in operation.answers {
        let content = match bodies {
            [] => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
            bodies => json!({ "application/json": content(operation, bodies) }),
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

/// A body that is one of these, with an example of each that has one.
fn content(operation: &Operation, bodies: &[&str]) -> Value {
    let schema = match bodies {
        [one] => reference(one),
        many => {
            let any: Vec<Value> = many.iter().map(|name| reference(name)).collect();
            json!({ "anyOf": any })
        }
    };
    let examples: Map<String, Value> = bodies
        .iter()
        .filter_map(|body| {
            let example = response_example(operation.id, body)?;
            Some(((*body).to_owned(), json!({ "value": example })))
        })
        .collect();
    json!({ "schema": schema, "examples": examples })
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
    let examples: Map<String, Value> = problems
        .iter()
        .map(|problem| {
            let example = json!({ "value": problem.example() });
            (problem.slug().to_owned(), example)
        })
        .collect();
    let content = json!({ "schema": reference("Problem"), "examples": examples });
    json!({
        "description": sentences.join(" "),
        "headers": headers,
        "content": { "application/problem+json": content },
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

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
