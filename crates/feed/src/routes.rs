//! The paths under `/v1`, and what stands behind them.

use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::middleware::DefaultHeaders;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpMessage, Resource, ResponseError, Route};
use pipeline::{AgentLog, AttemptLog, DeliveryLog, InboxLog, Meters, ServerKey};
use tokio_util::sync::CancellationToken;

use crate::backlog::Unprocessed;
use crate::limits::{Limits, Paid, announce, is_miss};
use crate::problem::Problem;
use crate::wait::WaitRoom;
use crate::{Keys, Policy, Settings, attempt, consume, docs, events, inbox, list, operator, reply};

/// What the feed needs from the rest of the process.
#[derive(Clone)]
pub struct Deps {
    /// Where artifacts are read and consumed.
    pub log: Arc<dyn AgentLog>,
    /// Whose inbox is whose.
    pub inboxes: Arc<dyn InboxLog>,
    /// What agents have opened.
    pub attempts: Arc<dyn AttemptLog>,
    /// What waits to be processed, for an attempt that hears nothing.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// Who may ask.
    pub keys: Arc<Keys>,
    /// What cursors are tagged with; the same in every process of a deployment,
    /// or a client that meets another process is told its cursor is forged.
    pub cursor_key: ServerKey,
    /// What is counted.
    pub meters: Meters,
    /// The bounds.
    pub settings: Settings,
    /// What agents may ask for.
    pub policy: Policy,
    /// Cancelled when the process is to end: open waits are then answered.
    pub shutdown: CancellationToken,
}

/// [`Deps`] and what the feed itself shares between its threads.
pub(crate) struct Feed {
    pub(crate) deps: Deps,
    pub(crate) room: Arc<WaitRoom>,
    pub(crate) limits: Limits,
    pub(crate) unprocessed: Unprocessed,
}

/// The routes of the feed, for `App::configure`; every thread gets a clone and
/// all of them count open waits in the same place.
pub fn routes(deps: Deps) -> impl FnOnce(&mut ServiceConfig) + Clone {
    let room = WaitRoom::new(deps.settings.max_waits, deps.meters.waiting.clone());
    let limits = Limits::new(&deps.settings.budgets);
    let unprocessed = Unprocessed::of(Arc::clone(&deps.deliveries));
    let feed = web::Data::new(Feed {
        deps,
        room,
        limits,
        unprocessed,
    });
    let docs = docs::routes(&feed.deps.settings, &feed.deps.policy);
    move |config: &mut ServiceConfig| {
        config.configure(docs);
        // Whatever no other part of the process serves.
        config.default_service(web::to(async || {
            reply::guarded(Problem::NotFound.error_response())
        }));
        config.service(
            web::scope("/v1")
                .app_data(feed.clone())
                .wrap_fn(move |request, next| {
                    let feed = feed.clone();
                    let answer = next.call(request);
                    async move { Ok(settle(&feed, answer.await?)) }
                })
                // Answers hold one-time values: no cache may keep them, and no
                // browser may guess another type for them.
                .wrap(
                    DefaultHeaders::new()
                        .add(("Cache-Control", "no-store"))
                        .add(("X-Content-Type-Options", "nosniff")),
                )
                .configure(attempts)
                .configure(inboxes)
                .configure(keys)
                .service(at("/events", [(GET, web::get().to(events::events))]))
                .service(at(
                    "/artifacts/{artifact}/consume",
                    [(POST, web::post().to(consume::consume))],
                ))
                .default_service(web::to(async || Problem::NotFound)),
        );
    }
}

/// Counts a consume that came to nothing, and says on every answer what is left.
fn settle<B>(feed: &Feed, answer: ServiceResponse<B>) -> ServiceResponse
where
    B: MessageBody + 'static,
{
    let mut answer = answer.map_into_boxed_body();
    let paid = answer.request().extensions().get::<Paid>().cloned();
    let guesser = paid.as_ref().and_then(|paid| paid.consumer.as_ref());
    if let Some(consumer) = guesser.filter(|_| is_miss(answer.status())) {
        let tally = feed.limits.miss(consumer);
        if !tally.is_paid() {
            let problem = Problem::RateLimited(tally.retry_after());
            answer = answer.into_response(problem.error_response());
            tally.tell(answer.headers_mut());
            return answer;
        }
    }
    announce(&feed.limits, paid.as_ref(), answer.headers_mut());
    answer
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
            "/inboxes/{inbox}/artifacts",
            [(GET, web::get().to(list::list))],
        ));
}

fn keys(config: &mut ServiceConfig) {
    config
        .service(at(
            "/keys",
            [
                (GET, web::get().to(operator::list)),
                (POST, web::post().to(operator::create)),
            ],
        ))
        .service(at(
            "/keys/{name}",
            [(DELETE, web::delete().to(operator::revoke))],
        ));
}

const GET: &str = "GET";
const POST: &str = "POST";
const DELETE: &str = "DELETE";

/// A resource with these methods; any other is answered with a problem that
/// names them.
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
