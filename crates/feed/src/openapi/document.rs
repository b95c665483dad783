//! The `OpenAPI` 3.1 document, built from what the code reads and writes.
//!
//! Bodies come from their types, paths and scopes from the access table, problems from
//! the complete list. The files beside this one add what a type cannot express.

use std::collections::BTreeMap;

use pipeline::Permission;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::constraints::{add_request_rules, add_response_words};
use super::examples::request_example;
use super::hooks;
use super::operation::{Operation, operations};
use super::optional_fields::simplify;
use super::parameters::parameters;
use super::responses::{reference, responses};
use super::tag::{TAGS, tag_of};
use crate::http::access::{Access, TABLE};
use crate::http::body::EmptyBody;
use crate::http::problem::Document;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::{attempt, audit, guard, inbox, items, keys, message, send, thread};

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
        send::ReplyRequestBody,
        message::MessageBody,
        thread::ThreadBody,
        thread::ThreadPageBody,
        send::SendBody,
        send::SendPageBody,
        send::SenderPageBody,
        inbox::InboxRequestBody,
        inbox::InboxBody,
        inbox::InboxPageBody,
        inbox::RulesBody,
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
    simplify(&mut document);
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
    let hook = Map::from_iter([("post".to_owned(), hooks::hook())]);
    paths.insert(hooks::PATH, hook);
    let tags: Vec<Value> = TAGS
        .iter()
        .map(|(name, description)| json!({ "name": name, "description": description }))
        .collect();
    extend(
        &mut document,
        "",
        json!({
            "tags": tags,
            "paths": paths,
            "webhooks": {
                "artifactConsumed": { "post": hooks::callback() },
                "threadHandedOver": { "post": hooks::handover() },
            },
            "security": [{ "key": [] }],
        }),
    );
    extend(&mut document, "/components/schemas", hooks::schemas());
    let key = json!({
        "type": "http",
        "scheme": "bearer",
        "description": "A key from `maillatch api-key create` or from the configuration: `mlk_…`. \
                        The names beside it are the scopes that an operation needs.",
    });
    let schemes = json!({ "securitySchemes": { "key": key } });
    extend(&mut document, "/components", schemes);
    document
}

/// Adds members to the object at a place.
fn extend(document: &mut Value, place: &str, members: Value) {
    let object = document.pointer_mut(place).and_then(Value::as_object_mut);
    if let (Some(object), Value::Object(members)) = (object, members) {
        object.extend(members);
    }
}

fn describe(access: &Access, operation: &Operation, settings: &Settings) -> Value {
    let scopes = [Some(access.permission), access.or];
    let scopes: Vec<&str> = scopes
        .into_iter()
        .flatten()
        .map(Permission::as_str)
        .collect();
    let needed: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
    let security: Vec<Value> = scopes
        .iter()
        .map(|scope| json!({ "key": [scope] }))
        .collect();
    let mut description = json!({
        "operationId": operation.id,
        "tags": [tag_of(operation.path)],
        "summary": operation.summary,
        "description": format!("Needs the scope {}.", needed.join(" or ")),
        "security": security,
        "parameters": parameters(access, operation, settings),
        "responses": responses(access, operation),
    });
    if let Some(body) = operation.body {
        let mut content = json!({ "schema": reference(body) });
        if let Some(example) = request_example(operation.id) {
            extend(&mut content, "", json!({ "example": example }));
        }
        let content = json!({ "application/json": content });
        let body = json!({ "required": operation.needs_body, "content": content });
        extend(&mut description, "", json!({ "requestBody": body }));
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::problem::Problem;

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
