//! How optional fields are described, so that generated types fit them.

use std::fmt::Write;

use serde_json::Value;

use super::constraints::REQUEST_BODIES;

/// Changes what the Rust types alone would say about optional fields:
///
/// - A request field with a default is optional. A `default` member would make some
///   generators require the field, so its description names the default instead.
/// - A response field without a value is left out, and is never null.
pub(super) fn simplify(document: &mut Value) {
    let schemas = document.pointer_mut("/components/schemas");
    for (name, schema) in schemas.and_then(Value::as_object_mut).into_iter().flatten() {
        let is_request = REQUEST_BODIES.contains(&name.as_str());
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flat_map(|all| all.values_mut()) {
            if is_request {
                describe_default(property);
            } else {
                drop_null(property);
            }
        }
    }
}

/// Moves the default of a field into its description.
fn describe_default(property: &mut Value) {
    let Some(members) = property.as_object_mut() else {
        return;
    };
    let default = members.remove("default").unwrap_or_default();
    let is_empty = default.is_null() || default.as_array().is_some_and(Vec::is_empty);
    if let (false, Some(Value::String(description))) = (is_empty, members.get_mut("description")) {
        let default = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        let _ = write!(description, " `{default}` if it is left out.");
    }
}

/// Takes null out of what a field may be.
fn drop_null(property: &mut Value) {
    let Some(members) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = members.get_mut("oneOf") {
        choices.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            members.remove("oneOf");
            members.extend(only);
        }
    }
}
