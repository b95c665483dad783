//! The protocol over HTTP, as routes of the process that serves the API. There are no
//! sessions: every request stands alone, so any process of a deployment can answer it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, HOST, HeaderMap, HeaderValue, ORIGIN,
};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use client::Client;
use futures_util::StreamExt;
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, BodyStream, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use secrecy::SecretString;

use crate::own_name::{is_own_name, is_own_origin};
use crate::server::Server;

/// No call needs a longer body.
const MAX_LENGTH: usize = 64 * 1024;
/// How long a slow body may hold its connection.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// The headers that the protocol reads. The key is not among them, so no line of a
/// library's log can contain it.
const READ: [&str; 6] = [
    "accept",
    "content-type",
    "host",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
];

type Service = StreamableHttpService<Server, NeverSessionManager>;

/// What the routes share.
#[derive(Clone)]
struct Shared {
    service: Service,
    api: Client,
    hosts: Vec<String>,
}

/// The route of the protocol, below the path that it is mounted at. `api` is a client of
/// the API that this process serves; each request uses it with its own key. `hosts` are
/// the names that the server answers to, besides addresses.
///
/// The caller has checked the key.
pub fn routes(api: Client, hosts: Vec<String>) -> impl FnOnce(&mut ServiceConfig) + Clone {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_LENGTH)
        // Checked here, where addresses and configured names are known.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let shared = Shared {
        service: Service::new(|| Ok(Server::for_requests()), Arc::default(), config),
        api,
        hosts,
    };
    move |routes: &mut ServiceConfig| {
        let shared = web::Data::new(shared);
        routes.service(web::resource("").app_data(shared).to(answer));
    }
}

/// Answers one request of the protocol.
///
/// Returns: what the protocol says; 403 for a page of another site; 408 for a slow body;
/// 413 for a long one; 415 for an encoded one; 421 for a name that is not the server's.
async fn answer(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> HttpResponse {
    if let Some(refusal) = refusal(request.headers(), &shared.hosts) {
        return refusal;
    }
    let read = tokio::time::timeout(BODY_TIMEOUT, payload.to_bytes_limited(MAX_LENGTH));
    let body = match read.await {
        Ok(Ok(Ok(body))) => body,
        Ok(Ok(Err(_)) | Err(_)) => return HttpResponse::PayloadTooLarge().finish(),
        Err(_elapsed) => return HttpResponse::RequestTimeout().finish(),
    };
    let Some(request) = translate(&request, &shared.api, body) else {
        return HttpResponse::BadRequest().finish();
    };
    respond(shared.service.handle(request).await).await
}

/// Refuses a request that a web page of another site may have made.
fn refusal(headers: &HeaderMap, hosts: &[String]) -> Option<HttpResponse> {
    let text = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    if !text(HOST).is_none_or(|host| is_own_name(host, hosts)) {
        let body = "use an address, or add the name to server.hosts\n";
        return Some(HttpResponse::MisdirectedRequest().body(body));
    }
    if !text(ORIGIN).is_none_or(|origin| is_own_origin(origin, hosts)) {
        return Some(HttpResponse::Forbidden().body("pages of other sites may not call this\n"));
    }
    let is_encoded = |value: &[u8]| !value.eq_ignore_ascii_case(b"identity");
    let encodings = headers.get_all(CONTENT_ENCODING);
    let is_encoded = encodings.map(HeaderValue::as_bytes).any(is_encoded);
    is_encoded.then(|| HttpResponse::UnsupportedMediaType().finish())
}

/// The request in the types of the protocol's library, with the client of its agent.
fn translate(
    request: &HttpRequest,
    api: &Client,
    body: web::Bytes,
) -> Option<http::Request<Full<web::Bytes>>> {
    let key = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (_, key) = key.split_once(' ')?;
    let mut translated = http::Request::builder()
        .method(request.method().as_str())
        .uri("/");
    for name in READ {
        for value in request.headers().get_all(name) {
            translated = translated.header(name, value.as_bytes());
        }
    }
    translated
        .extension(api.with_key(SecretString::from(key)))
        .body(Full::new(body))
        .ok()
}

/// The answer in the types of the server: whole if it is, as a stream otherwise.
async fn respond(answer: http::Response<BoxBody<web::Bytes, Infallible>>) -> HttpResponse {
    let (head, body) = answer.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16());
    let mut response = HttpResponse::build(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    // It may hold a one-time value, which no cache may keep.
    response.insert_header((CACHE_CONTROL, "no-store"));
    for (name, value) in &head.headers {
        if name != http::header::CACHE_CONTROL {
            response.append_header((name.as_str(), value.as_bytes()));
        }
    }
    if body.size_hint().exact().is_some() {
        return match body.collect().await {
            Ok(whole) => response.body(whole.to_bytes()),
            Err(never) => match never {},
        };
    }
    let parts = BodyStream::new(body).filter_map(async |frame| {
        let Ok(frame) = frame;
        frame.into_data().ok().map(Ok::<_, Infallible>)
    });
    response
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(Box::pin(parts))
}
