//! One post, from its first byte to its answer.

use std::time::Instant;

use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{DeliveryId, NewDelivery, OnConflict, Recorded};
use providers::{Answers, Coverage, RawRequest, Source};

use crate::budget::Account;
use crate::deps::Deps;
use crate::reply::{Accepted, Problem};
use crate::{body, headers, peer};

/// `POST /hooks/{source}`: records an authentic post.
///
/// Returns:
/// - **200** `{"status":"accepted","delivery":"dlv_…"}`: the body is in a
///   committed row. With `"conflict":true` the id was already used for other
///   content, and this post is kept in its own row.
/// - **200** `{"status":"duplicate","delivery":"dlv_…"}`: it was recorded before.
/// - **400** `body-incomplete`: the connection broke before the end of the body.
/// - **401** `signature-invalid`: the origin is not proven, whatever the reason;
///   also when a single-use token is used again with another body.
/// - **404** `not-found`: no source has this name.
/// - **405** `method-not-allowed`: anything but POST.
/// - **408** `request-timeout`: the body did not arrive in time.
/// - **413** `body-too-large`: the body is longer than the limit.
/// - **415** `content-encoding`, `media-type`: the body is compressed, or has no
///   usable content type.
/// - **503** `overloaded`, `storage-full`, `unavailable`, with `Retry-After`: the memory
///   budget is spent, unfinished mail fills the storage quota, the database did not
///   commit in time, or the signing certificate could not be fetched. The sender
///   retries.
///
/// Some providers drop mail on one of these statuses. For them `Source::answers`
/// replaces the status; the problem stays the same.
pub(crate) async fn receive(
    request: HttpRequest,
    mut payload: web::Payload,
    deps: web::Data<Deps>,
) -> HttpResponse {
    let begun = Instant::now();
    let name = request.match_info().query("source");
    let Some(source) = deps.sources.get(name) else {
        // The name is unauthenticated text and must not become a metric label.
        count(&deps, "(unknown)", Problem::UnknownSource.outcome());
        deps.refused.count(None, Problem::UnknownSource);
        return Problem::UnknownSource.answer(Answers::PLAIN, payload);
    };
    let accepted = accept(&deps, source, &request, &mut payload).await;
    let outcome = match &accepted {
        Ok(accepted) => accepted.outcome(),
        Err(problem) => problem.outcome(),
    };
    count(&deps, source.name().as_str(), outcome);
    if let Err(problem) = accepted {
        deps.refused.count(Some(source.name()), problem);
    }
    deps.meters
        .ack_seconds
        .observe(begun.elapsed().as_secs_f64());
    match accepted {
        Ok(accepted) => accepted.answer(),
        Err(problem) => problem.answer(source.answers(), payload),
    }
}

/// The steps of a post. Only the last one writes anything.
async fn accept(
    deps: &Deps,
    source: &Source,
    request: &HttpRequest,
    payload: &mut web::Payload,
) -> Result<Accepted, Problem> {
    let limit = deps.settings.body_limit;
    let content_type = headers::check(request.headers(), limit)?;
    let peer = peer::peer_address(request, &deps.settings);
    // Password and address are checked before a byte of the body is read.
    let refused = source.precheck(&raw_request(request, &[]).with_sender(peer));
    refused.map_err(Problem::RefusedUnread)?;
    if !deps.quota.has_room(source.name()) {
        return Err(Problem::StorageFull);
    }
    let mut reservation = deps.committer.reserve(Account {
        peer,
        source: source.name().clone(),
    })?;
    let body = body::read(payload, limit, deps.settings.body_timeout, &mut reservation).await?;
    let post = raw_request(request, &body).with_sender(peer);
    let certificate = match source.certificate_url(&post)? {
        Some(url) => Some(deps.certificates.get(&url, peer).await?),
        None => None,
    };
    let post = post.with_certificate(certificate.as_deref());
    let verified = source.verify(&post, deps.clock.now())?;
    let delivery = NewDelivery {
        id: DeliveryId::new(),
        source: source.name().clone(),
        key: verified.key(),
        content: verified.content(),
        content_type,
        body,
        on_conflict: match verified.coverage() {
            Coverage::Body | Coverage::Password => OnConflict::Keep,
            Coverage::TokenOnly => OnConflict::Refuse,
        },
    };
    let bytes = delivery.body.len();
    let recorded = deps.committer.commit(delivery, reservation).await?;
    if recorded.is_fresh() {
        deps.quota.add(source.name(), bytes);
    }
    log_and_count(deps, source, recorded);
    Accepted::of(recorded)
}

fn raw_request<'a>(request: &'a HttpRequest, body: &'a [u8]) -> RawRequest<'a> {
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()));
    RawRequest::new(headers, body).with_query(request.query_string())
}

fn log_and_count(deps: &Deps, source: &Source, recorded: Recorded) {
    let id = recorded.id();
    match recorded {
        Recorded::New(_) => {
            tracing::info!(delivery.id = %id, source = %source.name(), "delivery recorded");
        }
        Recorded::Duplicate(_) => {
            deps.meters.duplicates("delivery").inc();
            tracing::info!(delivery.id = %id, source = %source.name(), "duplicate of a delivery");
        }
        Recorded::Conflict(_) => {
            tracing::warn!(
                delivery.id = %id,
                source = %source.name(),
                "delivery recorded as a conflict: its provider id was used for other content"
            );
        }
        Recorded::Refused(_) => {
            tracing::warn!(
                delivery.id = %id,
                source = %source.name(),
                "post refused: its single-use token was used for a delivery with another body"
            );
        }
    }
}

fn count(deps: &Deps, source: &str, outcome: &str) {
    deps.meters.deliveries(source, outcome).inc();
}
