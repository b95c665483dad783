//! Fake APIs of providers: lists that shift while mail arrives, pages, links that
//! expire, and rate limits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use pipeline::{Clock, SystemClock, Timestamp};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::broken_api;

/// A mail at a provider.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    pub(crate) id: String,
    pub(crate) recipient: String,
    pub(crate) raw: String,
    /// The object in the webhook's post, if there is one.
    pub(crate) object: Value,
    pub(crate) at: Timestamp,
}

#[derive(Default)]
pub(crate) struct Shelves {
    /// The mails of each provider, oldest first.
    mails: Mutex<BTreeMap<String, Vec<Mail>>>,
    lists: AtomicUsize,
    links: AtomicUsize,
    /// Whether requests for mails must wait, and how many there were.
    held: watch::Sender<bool>,
    fetches: AtomicUsize,
    /// How often the list of each broken source was requested.
    pub(crate) list_requests: Mutex<BTreeMap<String, usize>>,
}

/// A server with the APIs of all providers, each below its own path.
pub(crate) struct ProviderApi {
    shelves: Arc<Shelves>,
    handle: ServerHandle,
    port: u16,
}

/// A small page size, so that a few mails are several pages.
const PAGE: usize = 10;

impl ProviderApi {
    pub(crate) fn start() -> Self {
        let shelves = Arc::new(Shelves::default());
        let data = Arc::clone(&shelves);
        let server = HttpServer::new(move || {
            let shelves = Arc::clone(&data);
            App::new().default_service(web::to(move |request: HttpRequest| {
                let shelves = Arc::clone(&shelves);
                async move {
                    shelves.pass(&request).await;
                    answer(&shelves, &request)
                }
            }))
        });
        let server = server
            .workers(1)
            .disable_signals()
            .bind("127.0.0.1:0")
            .unwrap();
        let port = server.addrs()[0].port();
        let server = server.run();
        let handle = server.handle();
        tokio::spawn(server);
        Self {
            shelves,
            handle,
            port,
        }
    }

    /// The URL of a provider's API.
    pub(crate) fn url(&self, provider: &str) -> String {
        format!("http://127.0.0.1:{}/{provider}", self.port)
    }

    /// A mail arrives at a provider.
    pub(crate) fn arrive(&self, provider: &str, mail: Mail) {
        let mut mails = self.shelves.mails.lock().unwrap();
        mails.entry(provider.to_owned()).or_default().push(mail);
    }

    /// How often lists were requested.
    pub(crate) fn lists(&self) -> usize {
        self.shelves.lists.load(Ordering::SeqCst)
    }

    /// Makes requests for Postmark's mails wait until released.
    pub(crate) fn hold(&self) {
        self.shelves.held.send_replace(true);
    }

    /// Answers the waiting requests.
    pub(crate) fn release(&self) {
        self.shelves.held.send_replace(false);
    }

    /// How often one of Postmark's mails was requested.
    pub(crate) fn fetches(&self) -> usize {
        self.shelves.fetches.load(Ordering::SeqCst)
    }

    /// How often the list of a broken source was requested.
    pub(crate) fn list_requests(&self, source: &str) -> usize {
        let list_requests = self.shelves.list_requests.lock().unwrap();
        list_requests.get(source).copied().unwrap_or(0)
    }

    pub(crate) async fn stop(self) {
        self.handle.stop(false).await;
    }
}

impl Shelves {
    /// Returns when a request may be answered.
    async fn pass(&self, request: &HttpRequest) {
        if request.path().ends_with("/details") {
            self.fetches.fetch_add(1, Ordering::SeqCst);
            let mut held = self.held.subscribe();
            held.wait_for(|held| !held).await.unwrap();
        }
    }
}

fn answer(shelves: &Shelves, request: &HttpRequest) -> HttpResponse {
    let path: Vec<String> = request
        .path()
        .split('/')
        .skip(1)
        .map(percent_decoded)
        .collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let [provider, rest @ ..] = path.as_slice() else {
        return HttpResponse::NotFound().finish();
    };
    if !is_authorised(provider, request) && !rest.contains(&"link") {
        return HttpResponse::Unauthorized().finish();
    }
    let query: BTreeMap<String, String> =
        url::form_urlencoded::parse(request.query_string().as_bytes())
            .into_owned()
            .collect();
    if let Some(answer) = broken_api::answer(shelves, provider, rest, &query) {
        return answer;
    }
    let mails = shelves.mails.lock().unwrap();
    let mails = mails.get(*provider).map_or(&[][..], Vec::as_slice);
    let is_list = matches!(
        rest,
        ["emails", "receiving"]
            | ["v0", "inboxes", _, "messages"]
            | ["v3", "grants", _, "messages"]
            | ["messages", "inbound"]
            | ["v3", _, "events", ..]
            | ["email_addresses", _, "inbound_emails"]
            | ["mails"]
    );
    if is_list && shelves.lists.fetch_add(1, Ordering::SeqCst) % 9 == 4 {
        return HttpResponse::TooManyRequests()
            .insert_header(("retry-after", "1"))
            .finish();
    }
    let base = format!("http://{}/{provider}", request.connection_info().host());
    let found = match *provider {
        "resend" => resend(shelves, mails, rest, &query, &base),
        "agentmail" => agentmail(shelves, mails, rest, &query, &base),
        "nylas" => nylas(mails, rest, &query),
        "postmark" => postmark(mails, rest, &query),
        "mailgun" => mailgun(mails, rest, &query, &base),
        "http-list" => list(mails, rest, &query),
        "mailhook" => mailhook(mails, rest, &query),
        _ => None,
    };
    found.unwrap_or_else(|| HttpResponse::NotFound().finish())
}

fn percent_decoded(part: &str) -> String {
    let query = format!("x={}", part.replace('+', "%2B"));
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.next().unwrap().1.into_owned()
}

fn is_authorised(provider: &str, request: &HttpRequest) -> bool {
    let header = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok());
    match provider {
        "postmark" => header("x-postmark-server-token") == Some("the-api-key"),
        // `api:the-api-key` in base64.
        "mailgun" => header("authorization") == Some("Basic YXBpOnRoZS1hcGkta2V5"),
        "mailhook" => {
            header("x-agent-id") == Some("mh_1") && header("x-api-key") == Some("the-api-key")
        }
        "http-list" => header("x-key") == Some("the-api-key"),
        _ => header("authorization") == Some("Bearer the-api-key"),
    }
}

fn reply(value: &Value) -> HttpResponse {
    HttpResponse::Ok().json(value)
}

fn by_id<'m>(mails: &'m [Mail], id: &str) -> Option<&'m Mail> {
    mails.iter().find(|mail| mail.id == id)
}

fn seconds(query: &BTreeMap<String, String>, name: &str) -> i64 {
    query
        .get(name)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// Newest first, after an id; some links to messages have expired.
fn resend(
    shelves: &Shelves,
    mails: &[Mail],
    path: &[&str],
    query: &BTreeMap<String, String>,
    base: &str,
) -> Option<HttpResponse> {
    match path {
        ["emails", "receiving"] => {
            let mut newest = mails.iter().rev();
            if let Some(after) = query.get("after") {
                newest.by_ref().find(|mail| mail.id == *after);
            }
            let page: Vec<Value> = newest
                .by_ref()
                .take(PAGE)
                .map(|mail| json!({ "id": mail.id, "created_at": mail.at.to_string() }))
                .collect();
            Some(reply(
                &json!({ "object": "list", "has_more": newest.next().is_some(), "data": page }),
            ))
        }
        ["emails", "receiving", id] => {
            let mail = by_id(mails, id)?;
            Some(reply(&json!({
                "id": id,
                "to": ["somebody@else.test"],
                "received_for": [mail.recipient],
                "raw": { "download_url": link(shelves, base, id) },
            })))
        }
        ["link", id] => linked(mails, id, query),
        _ => None,
    }
}

/// A link to a message.
fn link(shelves: &Shelves, base: &str, id: &str) -> String {
    let number = shelves.links.fetch_add(1, Ordering::SeqCst);
    format!("{base}/link/{id}?number={number}")
}

/// The target of a link; one of seven has expired.
fn linked(mails: &[Mail], id: &str, query: &BTreeMap<String, String>) -> Option<HttpResponse> {
    if seconds(query, "number") % 7 == 3 {
        return Some(HttpResponse::Gone().finish());
    }
    Some(HttpResponse::Ok().body(by_id(mails, id)?.raw.clone()))
}

/// Oldest first, after a time. Spam is listed only on request. Every eleventh mail has no
/// text and must be fetched through a link.
fn agentmail(
    shelves: &Shelves,
    mails: &[Mail],
    path: &[&str],
    query: &BTreeMap<String, String>,
    base: &str,
) -> Option<HttpResponse> {
    let is_spam = |mail: &Mail| mail.id.ends_with('3');
    match path {
        ["v0", "inboxes", _, "messages"] => {
            let wants = |name: &str| query.get(name).map(String::as_str) == Some("true");
            assert!(wants("ascending"));
            let shows = wants("include_spam") && wants("include_blocked");
            let shows = shows && wants("include_unauthenticated");
            let skip = usize::try_from(seconds(query, "page_token")).unwrap();
            let after = query["after"].as_str();
            let all: Vec<&Mail> = mails
                .iter()
                .filter(|mail| mail.at.to_string().as_str() > after)
                .filter(|mail| shows || !is_spam(mail))
                .collect();
            let page: Vec<Value> = all
                .iter()
                .skip(skip)
                .take(PAGE)
                .map(|mail| {
                    json!({ "message_id": mail.id, "timestamp": mail.at.to_string(), "labels": ["received"] })
                })
                .collect();
            let next = (all.len() > skip + PAGE).then(|| (skip + PAGE).to_string());
            Some(reply(&json!({ "messages": page, "next_page_token": next })))
        }
        ["v0", "inboxes", _, "messages", id] => {
            let mut message = by_id(mails, id)?.object.clone();
            message.as_object_mut().unwrap().remove("inbox_id");
            if id.ends_with('7') {
                message.as_object_mut().unwrap().remove("text");
            }
            Some(reply(&message))
        }
        ["v0", "inboxes", _, "messages", id, "raw"] => Some(reply(&json!({
            "message_id": id,
            "size": by_id(mails, id)?.raw.len(),
            "download_url": link(shelves, base, id),
        }))),
        ["link", id] => linked(mails, id, query),
        _ => None,
    }
}

/// Newest first, after a time in whole seconds.
fn nylas(mails: &[Mail], path: &[&str], query: &BTreeMap<String, String>) -> Option<HttpResponse> {
    let ["v3", "grants", _, "messages"] = path else {
        return None;
    };
    let skip = usize::try_from(seconds(query, "page_token")).unwrap();
    let after = seconds(query, "received_after");
    let all: Vec<&Mail> = mails
        .iter()
        .rev()
        .filter(|mail| mail.at.as_seconds() >= after)
        .collect();
    let page: Vec<Value> = all
        .iter()
        .skip(skip)
        .take(PAGE)
        .map(|mail| {
            let mut object = mail.object.clone();
            object["date"] = json!(mail.at.as_seconds());
            object
        })
        .collect();
    let next = (all.len() > skip + PAGE).then(|| (skip + PAGE).to_string());
    Some(reply(&json!({ "data": page, "next_cursor": next })))
}

/// Newest first, by offset; times are the sender's.
fn postmark(
    mails: &[Mail],
    path: &[&str],
    query: &BTreeMap<String, String>,
) -> Option<HttpResponse> {
    match path {
        ["messages", "inbound"] => {
            let from = query["fromdate"].as_str();
            assert!(from.len() == 19 && from.contains('T'), "{from}");
            let skip = usize::try_from(seconds(query, "offset")).unwrap();
            let count = usize::try_from(seconds(query, "count")).unwrap();
            let page: Vec<Value> = mails
                .iter()
                .rev()
                .skip(skip)
                .take(count)
                .map(|mail| json!({ "MessageID": mail.id, "Date": sent(mail.at) }))
                .collect();
            Some(reply(
                &json!({ "TotalCount": mails.len(), "InboundMessages": page }),
            ))
        }
        ["messages", "inbound", id, "details"] => Some(reply(&by_id(mails, id)?.object)),
        _ => None,
    }
}

/// Oldest first, by whole URLs; an empty page is the end.
fn mailgun(
    mails: &[Mail],
    path: &[&str],
    query: &BTreeMap<String, String>,
    base: &str,
) -> Option<HttpResponse> {
    match path {
        ["v3", _, "events", rest @ ..] => {
            assert!(!rest.is_empty() || query["event"] == "stored");
            let skip = rest.first().and_then(|text| text.parse().ok()).unwrap_or(0);
            let page: Vec<Value> = mails
                .iter()
                .skip(skip)
                .take(PAGE)
                .map(|mail| {
                    let millis = u32::try_from(mail.at.as_millis() % 1000).unwrap();
                    let at = f64::from(millis) / 1000.0;
                    #[expect(clippy::cast_precision_loss, reason = "seconds fit")]
                    let at = at + mail.at.as_seconds() as f64;
                    json!({
                        "id": mail.id,
                        "timestamp": at,
                        "storage": { "url": format!("{base}/stored/{}", mail.id) },
                    })
                })
                .collect();
            let next = format!("{base}/v3/inbox.test/events/{}", skip + page.len());
            Some(reply(&json!({ "items": page, "paging": { "next": next } })))
        }
        ["stored", id] => {
            let mail = by_id(mails, id)?;
            Some(reply(
                &json!({ "body-mime": mail.raw, "recipients": mail.recipient }),
            ))
        }
        _ => None,
    }
}

/// Newest first, by page numbers, which shift when mail arrives.
fn mailhook(
    mails: &[Mail],
    path: &[&str],
    query: &BTreeMap<String, String>,
) -> Option<HttpResponse> {
    let ["email_addresses", "ea_1", "inbound_emails"] = path else {
        return None;
    };
    let size = usize::try_from(seconds(query, "per_page")).unwrap();
    let skip = (usize::try_from(seconds(query, "page")).unwrap() - 1) * size;
    let newest = mails.iter().rev().skip(skip).take(size);
    let page: Vec<Value> = newest.map(|mail| mail.object.clone()).collect();
    Some(reply(&json!({ "data": page })))
}

/// Newest first, without times, with a token for the next page.
fn list(mails: &[Mail], path: &[&str], query: &BTreeMap<String, String>) -> Option<HttpResponse> {
    match path {
        ["mails"] => {
            let skip = usize::try_from(seconds(query, "cursor")).unwrap();
            let page: Vec<Value> = mails
                .iter()
                .rev()
                .skip(skip)
                .take(PAGE)
                .map(|mail| json!({ "id": mail.id, "to": [mail.recipient] }))
                .collect();
            let next = (mails.len() > skip + PAGE).then_some(skip + PAGE);
            Some(reply(&json!({ "data": { "mails": page }, "next": next })))
        }
        ["mails", id, "raw"] => Some(HttpResponse::Ok().body(by_id(mails, id)?.raw.clone())),
        _ => None,
    }
}

/// A time in the format of a mail header.
fn sent(at: Timestamp) -> String {
    let at = time::OffsetDateTime::from_unix_timestamp(at.as_seconds()).unwrap();
    at.format(&time::format_description::well_known::Rfc2822)
        .unwrap()
}

/// The present time in a provider's format.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}
