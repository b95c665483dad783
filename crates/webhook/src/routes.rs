//! The webhook's one path and what it needs.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{Clock, Meters};
use providers::{Answers, Sources};

use crate::receive::receive;
use crate::reply::{self, Problem};
use crate::{Certificates, Committer, Settings};

/// What the webhook needs.
#[derive(Clone)]
pub struct Deps {
    /// Who may post, and how they prove it.
    pub sources: Arc<Sources>,
    /// Has the certificates that some of them sign with.
    pub certificates: Arc<Certificates>,
    /// Records what was proven.
    pub committer: Committer,
    /// Tells whether a proof is fresh.
    pub clock: Arc<dyn Clock>,
    /// Counts answers.
    pub meters: Meters,
    /// The budgets of a post.
    pub settings: Settings,
}

/// `POST /hooks/{source}`, to be added to an application by `App::configure`.
pub fn routes(deps: Deps) -> impl FnOnce(&mut web::ServiceConfig) + Clone {
    move |app: &mut web::ServiceConfig| {
        app.service(
            web::resource("/hooks/{source}")
                .app_data(web::Data::new(deps))
                .route(web::post().to(receive))
                .default_service(web::to(other_method)),
        );
    }
}

/// Anything but POST: a provider's check that the webhook is there, which some
/// make, or nothing for us.
async fn other_method(
    request: HttpRequest,
    payload: web::Payload,
    deps: web::Data<Deps>,
) -> HttpResponse {
    let name = request.match_info().query("source");
    let greeting = deps
        .sources
        .get(name)
        .and_then(|source| source.greet(request.method().as_str(), request.query_string()));
    match greeting {
        Some(text) => reply::greeting(text),
        None => Problem::Method.answer(Answers::PLAIN, payload),
    }
}
