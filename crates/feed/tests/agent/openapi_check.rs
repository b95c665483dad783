//! Checks that the `OpenAPI` document lists every problem that any test receives.

use reqwest::{Client, Method, Url};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::harness::Answer;

/// All servers of these tests have the same document.
static DOCUMENT: OnceCell<Value> = OnceCell::const_new();

async fn document(client: &Client, url: &Url) -> &'static Value {
    let read = async || {
        let answer = client.get(url.join("/openapi.json").unwrap());
        answer.send().await.unwrap().json().await.unwrap()
    };
    DOCUMENT.get_or_init(read).await
}

fn is_for(template: &str, path: &str) -> bool {
    let (template, path) = (template.split('/'), path.split('/'));
    let alike = template.clone().count() == path.clone().count();
    alike
        && template
            .zip(path)
            .all(|(one, other)| one == other || one.starts_with('{'))
}

/// Checks an error response against the document.
pub(crate) async fn check(client: &Client, method: &Method, url: &Url, answer: &Answer) {
    let slug = match serde_json::from_str::<Value>(&answer.text) {
        Ok(problem) => problem["type"].as_str().unwrap_or_default().to_owned(),
        Err(_) => return,
    };
    let slug = slug.rsplit(':').next().unwrap_or_default();
    let document = document(client, url).await;
    let mut paths = document["paths"].as_object().unwrap().iter();
    let path = paths.find(|(template, _)| is_for(template, url.path()));
    let method = method.as_str().to_ascii_lowercase();
    // An unknown method or path belongs to no operation.
    let Some(operation) = path.and_then(|(_, methods)| methods.get(&method)) else {
        return;
    };
    let description = &operation["responses"][answer.status.to_string()]["description"];
    let description = description.as_str().unwrap_or_default();
    assert!(
        description.contains(&format!("`{slug}`")),
        "{method} {} must not return {} {slug}: {description}",
        url.path(),
        answer.status
    );
}
