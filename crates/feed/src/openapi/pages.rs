//! The routes of `/`, `/docs` and `/openapi.json`. They need no key. Each answer is built
//! once, on the first request; the pages have no script and load nothing, so they work
//! without internet access.

use std::future::{Ready, ready};
use std::sync::{Arc, LazyLock};

use actix_web::http::header::{ACCEPT, HeaderMap, LINK, VARY};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource, ResponseError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::document::document;
use super::html::STYLE;
use super::{docs_page, front_page};
use crate::http::problem::Problem;
use crate::http::reply;
use crate::policy::Policy;
use crate::settings::Settings;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
/// The description and the documentation of a service, by RFC 8631.
const LINKS: &str = "</openapi.json>; rel=\"service-desc\"; type=\"application/json\", \
                     </docs>; rel=\"service-doc\"; type=\"text/html\"";

/// The three routes.
pub(crate) fn routes(
    settings: &Settings,
    policy: &Policy,
) -> impl FnOnce(&mut ServiceConfig) + Clone + use<> {
    let (settings, policy) = (*settings, policy.clone());
    // Most processes are never asked for it.
    let described = Arc::new(LazyLock::new(move || {
        let document = document(&settings, &policy);
        Described {
            json: Page::new(JSON, reply::text(&document)),
            docs: Page::new(HTML, docs_page::page(&document)),
        }
    }));
    let (links, front) = (
        Page::new(JSON, reply::text(&front_page::links())),
        Page::new(HTML, front_page::page()),
    );
    move |config: &mut ServiceConfig| {
        let root = move |request: HttpRequest| {
            let wants_html = wants_html(request.headers());
            let page = if wants_html { &front } else { &links };
            let mut response = page.respond();
            let headers = response.headers_mut();
            headers.insert(VARY, ACCEPT.into());
            if let Ok(links) = LINKS.parse() {
                headers.insert(LINK, links);
            }
            ready(response)
        };
        let document = Arc::clone(&described);
        let json = move |_| ready(document.json.respond());
        let docs = move |_| ready(described.docs.respond());
        config
            .service(readable("/", root))
            .service(readable("/openapi.json", json))
            .service(readable("/docs", docs));
    }
}

/// Whether a client is a browser: it names HTML, and not only `*/*`.
fn wants_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers
        .get_all(ACCEPT)
        .filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/html"))
}

/// The two answers that describe the API.
struct Described {
    json: Page,
    docs: Page,
}

/// A fixed answer.
#[derive(Clone)]
struct Page {
    content_type: &'static str,
    body: String,
    /// The policy of an HTML page: its one style, by its hash, and nothing else.
    policy: Option<String>,
}

impl Page {
    fn new(content_type: &'static str, body: String) -> Self {
        let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
        let policy =
            format!("default-src 'none'; style-src 'sha256-{hash}'; frame-ancestors 'none'");
        Self {
            content_type,
            body,
            policy: (content_type == HTML).then_some(policy),
        }
    }

    fn respond(&self) -> HttpResponse {
        let mut response = HttpResponse::Ok();
        response.content_type(self.content_type);
        if let Some(policy) = &self.policy {
            response.insert_header(("Content-Security-Policy", policy.as_str()));
        }
        reply::guarded(response.body(self.body.clone()))
    }
}

/// A page that answers GET and HEAD.
fn readable<F>(path: &str, page: F) -> Resource
where
    F: Fn(HttpRequest) -> Ready<HttpResponse> + Clone + 'static,
{
    web::resource(path)
        .route(web::get().to(page.clone()))
        .route(web::head().to(page))
        .default_service(web::to(async || {
            reply::guarded(Problem::MethodNotAllowed("GET, HEAD".to_owned()).error_response())
        }))
}
