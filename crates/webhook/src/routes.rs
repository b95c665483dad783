//! The webhook's one path and what it needs.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use pipeline::{Clock, Meters};
use providers::Sources;

use crate::receive::receive;
use crate::reply::Problem;
use crate::{Committer, Settings};

/// What the webhook needs.
#[derive(Clone)]
pub struct Deps {
    /// Who may post, and how they prove it.
    pub sources: Arc<Sources>,
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
                .default_service(web::to(refuse_method)),
        );
    }
}

async fn refuse_method(payload: web::Payload) -> HttpResponse {
    Problem::Method.answer(payload)
}
