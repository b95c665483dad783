//! The endpoints for operators and orchestrators: `/livez`, `/readyz`, `/metrics`.
//!
//! The public listener says whether the process lives and which parts work. Why a part does
//! not work, warnings and metrics are served on the operators' listener alone
//! (`server.ops_listen`).

mod database_metrics;
mod process_metrics;
mod shared_probe;

use std::sync::Arc;

use actix_web::guard::{self, GuardContext};
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use actix_web::{HttpResponse, web};
use pipeline::{Probe, StorageQuota};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use crate::supervise::Supervisor;

pub(crate) use database_metrics::register as register_database;
pub(crate) use process_metrics::register as register_process;
pub(crate) use shared_probe::SharedProbe;

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

/// What the endpoints report on. The listeners and all requests share its probes.
#[derive(Clone)]
pub(crate) struct Deps {
    /// Parts without which the process cannot serve.
    pub(crate) probes: Vec<Arc<dyn Probe>>,
    /// An outage of the queue is a warning: workers find deliveries in the database.
    pub(crate) queue: Arc<dyn Probe>,
    pub(crate) supervisor: Supervisor,
    pub(crate) quota: Arc<StorageQuota>,
    pub(crate) registry: Arc<Registry>,
    /// The names that the operators' listener answers to, besides addresses.
    pub(crate) hosts: Vec<String>,
    /// What an operator should change although everything works.
    pub(crate) warnings: Vec<String>,
}

/// Adds the routes of the public listener. Every role has them.
pub(crate) fn public_routes(deps: Deps) -> impl FnOnce(&mut web::ServiceConfig) + Clone {
    move |config: &mut web::ServiceConfig| {
        config
            .app_data(web::Data::new(deps))
            .route("/livez", web::get().to(live))
            .route("/readyz", web::get().to(ready))
            .route("/metrics", web::get().to(elsewhere));
    }
}

/// Adds the routes of the operators' listener.
pub(crate) fn routes(deps: Deps) -> impl FnOnce(&mut web::ServiceConfig) + Clone {
    move |config: &mut web::ServiceConfig| {
        let own_name = || guard::fn_guard(is_own_name);
        config
            .app_data(web::Data::new(deps))
            .route("/livez", web::get().to(live))
            .route("/readyz", web::get().guard(own_name()).to(ready_in_detail))
            .route("/metrics", web::get().guard(own_name()).to(metrics))
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

/// Returns: 404, and where the metrics are.
async fn elsewhere() -> HttpResponse {
    HttpResponse::NotFound()
        .insert_header((CACHE_CONTROL, "no-store"))
        .body("metrics are served on server.ops_listen\n")
}

/// The state of the process.
struct Readiness {
    /// Whether it can serve. Warnings do not change that.
    is_ready: bool,
    /// Each part, and what is wrong with it.
    checks: Vec<(&'static str, Option<String>)>,
    warnings: Vec<String>,
}

impl Readiness {
    async fn of(deps: &Deps) -> Self {
        let mut checks = Vec::new();
        // A load balancer stops sending requests here before the process is gone.
        let mut is_ready = !deps.supervisor.stop().is_cancelled();
        if !is_ready {
            checks.push(("process", Some("stopping".to_owned())));
        }
        for probe in &deps.probes {
            let failure = probe.probe().await.err().map(|error| error.to_string());
            is_ready &= failure.is_none();
            checks.push((probe.name(), failure));
        }
        let mut warnings = deps.warnings.clone();
        let queue = deps
            .queue
            .probe()
            .await
            .err()
            .map(|error| error.to_string());
        if let Some(error) = &queue {
            warnings.push(format!("queue: {error}; workers look into the database"));
        }
        checks.push(("queue", queue));
        let tasks = deps.supervisor.warning();
        warnings.extend(tasks.as_ref().map(|tasks| format!("tasks: {tasks}")));
        checks.push(("tasks", tasks));
        let storage = deps.quota.warning();
        warnings.extend(storage.map(|storage| format!("storage: {storage}")));
        Self {
            is_ready,
            checks,
            warnings,
        }
    }

    fn answer(&self, body: &serde_json::Value) -> HttpResponse {
        let mut response = if self.is_ready {
            HttpResponse::Ok()
        } else {
            HttpResponse::ServiceUnavailable()
        };
        response
            .insert_header((CACHE_CONTROL, "no-store"))
            .json(body)
    }
}

/// Returns: 200 when every part works, 503 when one does not or while the process stops.
/// It names the parts that fail and says nothing more: every client may ask.
async fn ready(deps: web::Data<Deps>) -> HttpResponse {
    let readiness = Readiness::of(&deps).await;
    let checks = readiness.checks.iter();
    let checks: serde_json::Map<_, _> = checks
        .map(|(part, failure)| {
            let word = if failure.is_none() { "ok" } else { "failing" };
            ((*part).to_owned(), json!(word))
        })
        .collect();
    readiness.answer(&json!({ "ready": readiness.is_ready, "checks": checks }))
}

/// Returns: the same status, and what is wrong with each part, and warnings.
async fn ready_in_detail(deps: web::Data<Deps>) -> HttpResponse {
    let readiness = Readiness::of(&deps).await;
    let checks = readiness.checks.iter();
    let checks: serde_json::Map<_, _> = checks
        .map(|(part, failure)| {
            let text = failure.as_deref().unwrap_or("ok");
            ((*part).to_owned(), json!(text))
        })
        .collect();
    let warnings = &readiness.warnings;
    readiness.answer(&json!({
        "ready": readiness.is_ready, "checks": checks, "warnings": warnings,
    }))
}

/// Returns: 200 with every metric in the Prometheus text format.
async fn metrics(deps: web::Data<Deps>) -> HttpResponse {
    // Sets the gauges of tasks that do nothing.
    let _named = deps.supervisor.warning();
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
