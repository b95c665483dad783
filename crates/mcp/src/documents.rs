//! Documents for models that read instead of run. They are served without a key, like
//! the description of the API.

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{self, ServiceConfig};

const LLMS: &str = include_str!("../../../deploy/agents/llms.txt");
const SKILL: &str = include_str!("../../../deploy/agents/SKILL.md");

/// Adds `/llms.txt` and `/SKILL.md`.
pub fn documents(routes: &mut ServiceConfig) {
    routes
        .route(
            "/llms.txt",
            web::get().to(async || text(LLMS, "text/plain")),
        )
        .route(
            "/SKILL.md",
            web::get().to(async || text(SKILL, "text/markdown")),
        );
}

fn text(document: &'static str, kind: &str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, format!("{kind}; charset=utf-8")))
        .insert_header((CACHE_CONTROL, "max-age=3600"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(document)
}
