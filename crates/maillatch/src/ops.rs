//! The endpoints for operators and orchestrators: `/livez`, `/readyz`, `/metrics`.

use std::sync::Arc;

use actix_web::guard::{self, GuardContext};
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use actix_web::{HttpResponse, web};
use pipeline::{Probe, StorageQuota};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use crate::supervise::Supervisor;

/// Whether the `Host` header is an IP address, a local name or a configured one. This
/// stops DNS rebinding: a web page whose own domain resolves to this server must not read
/// the answers.
fn is_own_name(context: &GuardContext<'_>) -> bool {
    let host = context.head().headers().get(HOST);
    let Some(host) = host.and_then(|value| value.to_str().ok()) else {
        return true;
    };
    let deps = context.app_data::<web::Data<Deps>>();
    let hosts = deps.map_or(&[][..], |deps| deps.hosts.as_slice());
    mcp::is_own_name(host, hosts)
}

/// Returns: 421, because the server does not answer to this name.
async fn misdirected() -> HttpResponse {
    HttpResponse::MisdirectedRequest()
        .insert_header((CACHE_CONTROL, "no-store"))
        .body("use an address, or add the name to server.hosts\n")
}

/// What the endpoints report on.
#[derive(Clone)]
pub(crate) struct Deps {
    /// Parts without which the process cannot serve.
    pub(crate) probes: Vec<Arc<dyn Probe>>,
    /// An outage of the queue is a warning: workers find deliveries in the database.
    pub(crate) queue: Arc<dyn Probe>,
    pub(crate) supervisor: Supervisor,
    pub(crate) quota: Arc<StorageQuota>,
    pub(crate) registry: Arc<Registry>,
    /// The names that `/readyz` and `/metrics` answer to, besides addresses.
    pub(crate) hosts: Vec<String>,
    /// What an operator should change although everything works.
    pub(crate) warnings: Vec<String>,
}

/// Adds the three routes. Every role has them.
pub(crate) fn routes(deps: Deps) -> impl FnOnce(&mut web::ServiceConfig) + Clone {
    move |config: &mut web::ServiceConfig| {
        config
            .app_data(web::Data::new(deps))
            .route("/livez", web::get().to(live))
            .route(
                "/readyz",
                web::get().guard(guard::fn_guard(is_own_name)).to(ready),
            )
            .route(
                "/metrics",
                web::get().guard(guard::fn_guard(is_own_name)).to(metrics),
            )
            .route("/readyz", web::get().to(misdirected))
            .route("/metrics", web::get().to(misdirected));
    }
}

/// Returns: 200 while the process serves, 503 with the part that only a restart can
/// repair.
async fn live(deps: web::Data<Deps>) -> HttpResponse {
    for probe in &deps.probes {
        if probe.needs_restart().await {
            return HttpResponse::ServiceUnavailable()
                .insert_header((CACHE_CONTROL, "no-store"))
                .body(format!(
                    "{} needs a restart of this process\n",
                    probe.name()
                ));
        }
    }
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "no-store"))
        .body("ok\n")
}

/// Returns: 200 when every part works, 503 with the parts that do not, or while the
/// process stops. Warnings do not change the status.
async fn ready(deps: web::Data<Deps>) -> HttpResponse {
    let mut checks = serde_json::Map::new();
    // A load balancer stops sending requests here before the process is gone.
    let mut all = !deps.supervisor.stop().is_cancelled();
    if !all {
        checks.insert("process".to_owned(), json!("stopping"));
    }
    for probe in &deps.probes {
        let outcome = probe.probe().await;
        all &= outcome.is_ok();
        let report = outcome.map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        checks.insert(probe.name().to_owned(), json!(report));
    }
    let mut warnings = deps.warnings.clone();
    match deps.queue.probe().await {
        Ok(()) => checks.insert("queue".to_owned(), json!("ok")),
        Err(error) => {
            warnings.push(format!("queue: {error}; workers look into the database"));
            checks.insert("queue".to_owned(), json!(error.to_string()))
        }
    };
    let restarted = deps.supervisor.warning();
    checks.insert(
        "tasks".to_owned(),
        json!(restarted.as_deref().unwrap_or("ok")),
    );
    warnings.extend(restarted.map(|tasks| format!("tasks: {tasks}")));
    let storage = deps.quota.warning();
    warnings.extend(storage.map(|storage| format!("storage: {storage}")));
    let mut response = if all {
        HttpResponse::Ok()
    } else {
        HttpResponse::ServiceUnavailable()
    };
    response
        .insert_header((CACHE_CONTROL, "no-store"))
        .json(json!({ "ready": all, "checks": checks, "warnings": warnings }))
}

/// Returns: 200 with every metric in the Prometheus text format.
async fn metrics(deps: web::Data<Deps>) -> HttpResponse {
    let mut text = String::new();
    if encode(&mut text, &deps.registry).is_err() {
        return HttpResponse::InternalServerError().finish();
    }
    HttpResponse::Ok()
        .insert_header((
            CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ))
        .insert_header((CACHE_CONTROL, "no-store"))
        .body(text)
}
