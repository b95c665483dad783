//! `/openapi.json` and `/docs`.

use reqwest::Method;

use crate::harness::{Server, ask};

#[tokio::test]
async fn every_path_of_the_openapi_document_is_served() {
    let server = Server::start().await;
    let document = ask(server.bare(Method::GET, "/openapi.json")).await;
    assert_eq!(document.header("content-type"), Some("application/json"));
    let document = document.json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 10, "{}", paths.len());
    // The hooks are served by another role; an end-to-end test checks them.
    for (path, methods) in paths.iter().filter(|(path, _)| path.starts_with("/v1/")) {
        let path = path
            .replace("{inbox}", "a@inbox.test")
            .replace("{attempt}", "att_1")
            .replace("{artifact}", "art_1");
        // A path that is not served would return 404 for every method.
        let refused = ask(server.bare(Method::PATCH, &path)).await;
        refused.problem(405, "method-not-allowed");
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            // The handler itself requires a key, so 401 shows that it was reached.
            let answer = ask(server.bare(method, &path)).await;
            answer.problem(401, "unauthenticated");
        }
    }
}

#[tokio::test]
async fn docs_page_has_no_script_and_loads_nothing() {
    let server = Server::start().await;
    let page = ask(server.bare(Method::GET, "/docs")).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
    for loaded in ["<script", "http://", "https://", "src=", "@import", "url("] {
        assert!(!page.text.contains(loaded), "{loaded}");
    }
    assert!(page.text.contains("width=device-width"));
    let first = page.text.split("<h2>").nth(1).unwrap();
    assert!(first.starts_with("Get a code</h2>"), "{first}");
    for text in [
        "POST /v1/attempts/{attempt}/consume",
        "POST /hooks/{source}",
        "POST to your callback",
        "host_not_allowed",
        "already-consumed",
        "Idempotency-Key",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
}

#[tokio::test]
async fn root_answers_a_browser_with_a_page_and_others_with_links() {
    let server = Server::start().await;
    let browser = server.bare(Method::GET, "/");
    let browser = browser.header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    let page = ask(browser).await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(page.text.contains("<a href=/docs>"), "{}", page.text);
    for accept in ["*/*", "application/json"] {
        let machine = server.bare(Method::GET, "/").header("Accept", accept);
        let answer = ask(machine).await;
        assert_eq!(answer.header("vary"), Some("accept"));
        assert!(
            answer
                .header("link")
                .unwrap()
                .contains("rel=\"service-desc\"")
        );
        let links = answer.json()["links"].clone();
        assert_eq!(links["openapi"], "/openapi.json");
        assert_eq!(links["docs"], "/docs");
    }
}

#[tokio::test]
async fn generated_types_have_optional_fields_where_the_server_has_defaults() {
    let server = Server::start().await;
    let document = ask(server.bare(Method::GET, "/openapi.json")).await.json();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, required) in [
        ("AttemptWish", 0),
        ("ConsumeWish", 0),
        ("InboxWish", 0),
        ("KeyWish", 1),
        ("Report", 1),
    ] {
        let schema = &schemas[name];
        let listed = schema["required"].as_array().map_or(0, Vec::len);
        assert_eq!(listed, required, "{name}");
        // openapi-typescript requires a field that has a default.
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(property.get("default").is_none(), "{name}.{field}");
        }
    }
    // A response field without a value is left out.
    for name in ["Attempt", "AttemptDisclosure", "Item", "Inbox", "Problem"] {
        let text = schemas[name].to_string();
        assert!(!text.contains("\"null\""), "{name}: {text}");
    }
}

#[tokio::test]
async fn every_operation_has_a_tag_and_the_scope_that_it_needs() {
    let server = Server::start().await;
    let document = ask(server.bare(Method::GET, "/openapi.json")).await.json();
    let tags = document["tags"].as_array().unwrap();
    let tags: Vec<&str> = tags.iter().filter_map(|tag| tag["name"].as_str()).collect();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let tag = operation["tags"][0].as_str().unwrap();
            assert!(tags.contains(&tag), "{path}: {tag}");
            let security = operation["security"].as_array().unwrap();
            if path.starts_with("/v1/") {
                let scopes = security.iter().map(|one| one["key"][0].as_str().unwrap());
                let scopes: Vec<String> = scopes.map(|scope| format!("`{scope}`")).collect();
                let needs = operation["description"].as_str().unwrap();
                assert_eq!(needs, format!("Needs the scope {}.", scopes.join(" or ")));
                assert!(!scopes.is_empty(), "{path}");
            } else {
                assert!(security.is_empty(), "{path}");
            }
        }
    }
}
