//! Fake list APIs that misbehave: one without an end, one whose pages repeat, one with a
//! mail that is too large, one with future times, and one that always fails.

use std::collections::BTreeMap;

use actix_web::HttpResponse;
use pipeline::{Clock, SystemClock, Timestamp};
use serde_json::{Value, json};

use crate::harness::otp_mail;
use crate::provider_api::{ProviderApi, Shelves};

/// Larger than the size limit.
pub(crate) const HUGE: usize = 3_000_000;

/// All of these sources, as TOML; the size limit is one megabyte.
pub(crate) fn sources(api: &ProviderApi) -> String {
    let source = |name: &&str| {
        format!(
            "[source.{name}]\nprovider = \"http-list\"\napi_key = \"the-api-key\"\n\
             api_url = \"{}\"\npoll = {{ every_seconds = 1, list = {{ path = \"/mails\", \
             items = \"mails\", id = \"id\", time = \"at\", next = \"next\", \
             next_field = \"cursor\", raw_path = \"/mails/{{id}}/raw\" }}, \
             deliver_to = [\"{name}@inbox.test\"] }}\n",
            api.url(name)
        )
    };
    ["endless", "circling", "huge", "ahead", "broken"]
        .iter()
        .map(source)
        .collect()
}

/// The answer of a broken source; `None` for all others.
pub(crate) fn answer(
    shelves: &Shelves,
    source: &str,
    path: &[&str],
    query: &BTreeMap<String, String>,
) -> Option<HttpResponse> {
    let cursor = query.get("cursor").and_then(|text| text.parse().ok());
    let cursor: u64 = cursor.unwrap_or(0);
    let (ids, next): (&[&str], Value) = match source {
        // The same mail on every page, and always one more page.
        "endless" => (&["always"], json!((cursor + 1).to_string())),
        // The second page leads back to the first.
        "circling" => (&["around"], json!((cursor % 2 + 1).to_string())),
        "huge" => (&["huge", "small"], Value::Null),
        "ahead" => (&["early"], Value::Null),
        "broken" => return Some(HttpResponse::InternalServerError().finish()),
        _ => return None,
    };
    if let ["mails", id, "raw"] = path {
        return Some(raw(source, id));
    }
    *shelves
        .list_requests
        .lock()
        .unwrap()
        .entry(source.to_owned())
        .or_default() += 1;
    // The same time in every answer, so that the list stays the same.
    let hour = 60 * 60 * 1000;
    let mut at = Timestamp::from_millis(SystemClock.now().as_millis() / hour * hour);
    if source == "ahead" {
        at = at.plus(std::time::Duration::from_hours(24 * 365));
    }
    let mail = |id: &&str| json!({ "id": id, "at": at.to_string() });
    let mails: Vec<Value> = ids.iter().map(mail).collect();
    Some(HttpResponse::Ok().json(json!({ "mails": mails, "next": next })))
}

fn raw(source: &str, id: &str) -> HttpResponse {
    let mut mail = otp_mail(&format!("{source}-{id}"), "493817");
    if id == "huge" {
        mail.resize(HUGE, b'x');
    }
    HttpResponse::Ok().body(mail)
}
