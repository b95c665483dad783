//! The paths under `/v1`, and the handler of each.

use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse};
use actix_web::middleware::{DefaultHeaders, Next, from_fn};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpMessage, Resource, ResponseError, Route};

use crate::http::authenticate::ValidKey;
use crate::http::problem::Problem;
use crate::http::reply;
use crate::state::{Charge, Deps, Feed, announce, is_failed_consume};
use crate::{attempt, audit, guard, inbox, items, keys, message, openapi, send, thread};

/// The routes of the feed, for `App::configure`. Every thread gets a clone, and all
/// clones share rate limits and wait slots.
pub fn routes(deps: Deps) -> impl FnOnce(&mut ServiceConfig) + Clone {
    routes_and(deps, |_: &mut ServiceConfig| ())
}

/// The same, and at `/mcp` the routes of `guest`, for requests with a valid key. What a
/// guest wants of the feed, it asks the feed for with that key, so scopes and rate limits
/// hold there.
pub fn routes_and(
    deps: Deps,
    guest: impl FnOnce(&mut ServiceConfig) + Clone,
) -> impl FnOnce(&mut ServiceConfig) + Clone {
    let feed = web::Data::new(Feed::new(deps));
    let docs = openapi::routes(&feed.deps.settings, &feed.deps.policy);
    move |config: &mut ServiceConfig| {
        config.configure(docs);
        config.service(
            web::scope("/mcp")
                .app_data(feed.clone())
                .wrap(from_fn(require_key))
                .wrap(guard_headers())
                .configure(guest),
        );
        // Every path that no other part of the process serves.
        config.default_service(web::to(async || {
            reply::guarded(Problem::NotFound.error_response())
        }));
        config.service(
            web::scope("/v1")
                .app_data(feed.clone())
                .wrap_fn(move |request, next| {
                    let (feed, begun) = (feed.clone(), Instant::now());
                    let response = next.call(request);
                    async move {
                        let response = finish_response(&feed, response.await?);
                        observe(&feed, &response, begun);
                        Ok(response)
                    }
                })
                .wrap(guard_headers())
                .configure(attempts)
                .configure(inboxes)
                .configure(guards)
                .configure(sends)
                .configure(replies)
                .configure(operators)
                .service(at("/events", [(GET, web::get().to(items::events))]))
                .service(at(
                    "/artifacts/{artifact}/consume",
                    [(POST, web::post().to(items::consume))],
                ))
                .default_service(web::to(async || Problem::NotFound)),
        );
    }
}

/// Responses contain one-time values: no cache may keep them, and no browser may guess
/// another type for them.
fn guard_headers() -> DefaultHeaders {
    DefaultHeaders::new()
        .add(("Cache-Control", "no-store"))
        .add(("X-Content-Type-Options", "nosniff"))
}

/// Passes a request with a valid key on to the guest.
async fn require_key(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    match request.extract::<ValidKey>().await {
        Ok(ValidKey) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(problem) => Ok(request.into_response(problem.error_response())),
    }
}

/// Measures a request. Labels are words of closed lists: an unknown path or method must not
/// become one.
fn observe(feed: &Feed, response: &ServiceResponse, begun: Instant) {
    let request = response.request();
    let route = request.match_pattern();
    let methods = [GET, POST, DELETE];
    let method = methods
        .into_iter()
        .find(|one| *one == request.method().as_str());
    let requests = feed.deps.meters.requests(
        route.as_deref().unwrap_or("(unknown)"),
        method.unwrap_or("(other)"),
        response.status().as_u16(),
    );
    requests.observe(begun.elapsed().as_secs_f64());
}

/// Charges a failed consume, and adds the rate limit headers to every response.
fn finish_response<B>(feed: &Feed, response: ServiceResponse<B>) -> ServiceResponse
where
    B: MessageBody + 'static,
{
    let mut response = response.map_into_boxed_body();
    let charge = response.request().extensions().get::<Charge>().cloned();
    let consumer = charge.as_ref().and_then(|charge| charge.consumer.as_ref());
    if let Some(consumer) = consumer.filter(|_| is_failed_consume(response.status())) {
        let state = feed.limits.charge_failed_consume(consumer);
        if !state.is_within() {
            let problem = Problem::RateLimited(state.retry_after());
            response = response.into_response(problem.error_response());
            state.write(response.headers_mut());
            return response;
        }
    }
    announce(&feed.limits, charge.as_ref(), response.headers_mut());
    response
}

fn attempts(config: &mut ServiceConfig) {
    config
        .service(at("/attempts", [(POST, web::post().to(attempt::open))]))
        .service(at(
            "/attempts/{attempt}",
            [(GET, web::get().to(attempt::show))],
        ))
        .service(at(
            "/attempts/{attempt}/consume",
            [(POST, web::post().to(attempt::consume))],
        ))
        .service(at(
            "/attempts/{attempt}/resend",
            [(POST, web::post().to(attempt::resend))],
        ))
        .service(at(
            "/attempts/{attempt}/finish",
            [(POST, web::post().to(attempt::finish))],
        ));
}

fn inboxes(config: &mut ServiceConfig) {
    config
        .service(at(
            "/inboxes",
            [
                (GET, web::get().to(inbox::list)),
                (POST, web::post().to(inbox::create)),
            ],
        ))
        .service(at(
            "/inboxes/{inbox}",
            [
                (GET, web::get().to(inbox::show)),
                (DELETE, web::delete().to(inbox::expire)),
            ],
        ))
        .service(at(
            "/inboxes/{inbox}/rotate",
            [(POST, web::post().to(inbox::rotate))],
        ))
        .service(at(
            "/inboxes/{inbox}/rules",
            [
                (GET, web::get().to(inbox::show_rules)),
                (POST, web::post().to(inbox::set_rules)),
            ],
        ))
        .service(at(
            "/inboxes/{inbox}/artifacts",
            [(GET, web::get().to(items::list))],
        ));
}

fn guards(config: &mut ServiceConfig) {
    config
        .service(at("/guards", [(POST, web::post().to(guard::claim))]))
        .service(at("/guards/{guard}", [(GET, web::get().to(guard::show))]))
        .service(at(
            "/guards/{guard}/confirm",
            [(POST, web::post().to(guard::confirm))],
        ))
        .service(at(
            "/guards/{guard}/release",
            [(POST, web::post().to(guard::release))],
        ))
        .service(at(
            "/guards/{guard}/extend",
            [(POST, web::post().to(guard::extend))],
        ));
}

fn sends(config: &mut ServiceConfig) {
    config
        .service(at("/senders", [(GET, web::get().to(send::senders))]))
        .service(at(
            "/sends",
            [
                (GET, web::get().to(send::list)),
                (POST, web::post().to(send::order)),
            ],
        ))
        .service(at(
            "/sends/batch",
            [(POST, web::post().to(send::order_many))],
        ))
        .service(at("/sends/{send}", [(GET, web::get().to(send::show))]))
        .service(at(
            "/sends/{send}/cancel",
            [(POST, web::post().to(send::cancel))],
        ))
        .service(at(
            "/sends/{send}/approve",
            [(POST, web::post().to(send::approve))],
        ))
        .service(at(
            "/sends/{send}/refuse",
            [(POST, web::post().to(send::refuse))],
        ))
        .service(at(
            "/sends/{send}/settle",
            [(POST, web::post().to(send::settle))],
        ));
}

fn replies(config: &mut ServiceConfig) {
    config
        .service(at(
            "/messages/{message}",
            [(GET, web::get().to(message::show))],
        ))
        .service(at(
            "/messages/{message}/replies",
            [(POST, web::post().to(send::reply_to))],
        ))
        .service(at("/threads", [(GET, web::get().to(thread::list))]))
        .service(at(
            "/threads/{thread}",
            [(GET, web::get().to(thread::show))],
        ))
        .service(at(
            "/threads/{thread}/release",
            [(POST, web::post().to(thread::release))],
        ));
}

fn operators(config: &mut ServiceConfig) {
    config
        .service(at("/audit", [(GET, web::get().to(audit::list))]))
        .service(at(
            "/keys",
            [
                (GET, web::get().to(keys::list)),
                (POST, web::post().to(keys::create)),
            ],
        ))
        .service(at(
            "/keys/{name}",
            [(DELETE, web::delete().to(keys::revoke))],
        ));
}

const GET: &str = "GET";
const POST: &str = "POST";
const DELETE: &str = "DELETE";

/// A resource with these methods. Any other method gets a problem that lists them.
fn at<const N: usize>(path: &str, routes: [(&'static str, Route); N]) -> Resource {
    let allowed = routes.each_ref().map(|(method, _)| *method).join(", ");
    let refuse = move || {
        let allowed = allowed.clone();
        async move { Problem::MethodNotAllowed(allowed) }
    };
    let resource = routes
        .into_iter()
        .fold(web::resource(path), |resource, (_, route)| {
            resource.route(route)
        });
    resource.default_service(web::to(refuse))
}
