//! The webhook's one path.

use actix_web::{HttpRequest, HttpResponse, web};
use providers::Answers;

use crate::deps::Deps;
use crate::receive::receive;
use crate::reply::{self, Problem};

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

/// Any method but POST. Some providers check a new webhook with a GET that must be
/// answered; everything else gets 405.
async fn other_method(
    request: HttpRequest,
    payload: web::Payload,
    deps: web::Data<Deps>,
) -> HttpResponse {
    let name = request.match_info().query("source");
    let challenge = deps
        .sources
        .get(name)
        .and_then(|source| source.greet(request.method().as_str(), request.query_string()));
    match challenge {
        Some(text) => reply::challenge(text),
        None => Problem::Method.answer(Answers::PLAIN, payload),
    }
}
