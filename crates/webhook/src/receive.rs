//! One post, from its first byte to its answer.

use std::time::Instant;

use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{DeliveryId, NewDelivery, OnConflict, OutcomeLabel, Recorded};
use providers::{Answers, Coverage, RawRequest, Source};

use crate::reply::{Accepted, Problem};
use crate::{Deps, body, peer, screen};

/// `POST /hooks/{source}`: records an authentic post.
///
/// Returns:
/// - **200** `{"status":"accepted","delivery":"dlv_…"}`: the body is in a
///   committed row. With `"conflict":true` its id was already taken by other
///   content; this one is kept in a row of its own.
/// - **200** `{"status":"duplicate","delivery":"dlv_…"}`: it was there already.
/// - **400** `body-incomplete`: the body broke off.
/// - **401** `signature-invalid`: the origin is not proven, for whatever reason;
///   also when a token that is used once comes again with another body.
/// - **404** `not-found`: no source has this name.
/// - **405** `method-not-allowed`: anything but POST.
/// - **408** `request-timeout`: the body did not come in time.
/// - **413** `body-too-large`: the body is longer than the limit.
/// - **415** `content-encoding`, `media-type`: the body is compressed, or has no
///   usable content type.
/// - **503** `overloaded`, `unavailable`, with `Retry-After`: there is no memory
///   for it now, the database did not commit in time, or the certificate that it
///   is signed with could not be had. The sender tries again.
///
/// Where a provider's contract says that 400, 401, 408, 413, 415 or 503 would cost
/// mail, another status stands in its place (`Source::answers`); the problem is the same.
pub(crate) async fn receive(
    request: HttpRequest,
    mut payload: web::Payload,
    deps: web::Data<Deps>,
) -> HttpResponse {
    let begun = Instant::now();
    let name = request.match_info().query("source");
    let Some(source) = deps.sources.get(name) else {
        // The name is a stranger's text and stays out of the meters.
        count(&deps, "(unknown)", Problem::UnknownSource.outcome());
        return Problem::UnknownSource.answer(Answers::PLAIN, payload);
    };
    let accepted = accept(&deps, source, &request, &mut payload).await;
    let outcome = match &accepted {
        Ok(accepted) => accepted.outcome(),
        Err(problem) => problem.outcome(),
    };
    count(&deps, source.name().as_str(), outcome);
    deps.meters
        .ack_seconds
        .observe(begun.elapsed().as_secs_f64());
    match accepted {
        Ok(accepted) => accepted.answer(),
        Err(problem) => problem.answer(source.answers(), payload),
    }
}

/// The steps of a post. None but the last can leave anything behind.
async fn accept(
    deps: &Deps,
    source: &Source,
    request: &HttpRequest,
    payload: &mut web::Payload,
) -> Result<Accepted, Problem> {
    let limit = deps.settings.body_limit;
    let content_type = screen::screen(request.headers(), limit)?;
    let mut held = deps.committer.hold()?;
    let body = body::read(payload, limit, deps.settings.body_timeout, &mut held).await?;
    let post = raw(request, &body).with_sender(peer::sender(request, &deps.settings));
    let certificate = match source.certificate_url(&post)? {
        Some(url) => Some(deps.certificates.get(&url).await?),
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
    let recorded = deps.committer.commit(delivery, held).await?;
    note(deps, source, recorded);
    Accepted::of(recorded)
}

fn raw<'a>(request: &'a HttpRequest, body: &'a [u8]) -> RawRequest<'a> {
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()));
    RawRequest::new(headers, body).with_query(request.query_string())
}

fn note(deps: &Deps, source: &Source, recorded: Recorded) {
    let id = recorded.id();
    match recorded {
        Recorded::New(_) => {
            tracing::info!(delivery.id = %id, delivery.source = %source.name(), "recorded {id}");
        }
        Recorded::Duplicate(_) => {
            deps.meters
                .duplicates
                .get_or_create(&OutcomeLabel::new("delivery", "duplicate"))
                .inc();
            tracing::info!(delivery.id = %id, delivery.source = %source.name(), "known already: {id}");
        }
        Recorded::Conflict(_) => {
            tracing::warn!(
                delivery.id = %id,
                delivery.source = %source.name(),
                "recorded {id} apart: its id was taken by other content"
            );
        }
        Recorded::Refused(_) => {
            tracing::warn!(
                delivery.id = %id,
                delivery.source = %source.name(),
                "refused another body for the token of {id}"
            );
        }
    }
}

fn count(deps: &Deps, of: &str, outcome: &str) {
    deps.meters
        .deliveries
        .get_or_create(&OutcomeLabel::new(of, outcome))
        .inc();
}
