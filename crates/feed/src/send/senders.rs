//! `GET /v1/senders`: the senders and templates that an agent may name.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use pipeline::{Permission, SenderOffer, TemplateOffer, ValueOffer};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::reply;
use crate::state::Feed;

/// What a key may send by.
#[derive(Serialize, ToSchema)]
#[schema(as = SenderPage)]
pub(crate) struct SenderPageBody {
    items: Vec<SenderBody>,
    /// Which of `send` and `reply` the key has.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<Permission>,
}

/// A sender and its templates.
#[derive(Serialize, ToSchema)]
#[schema(as = Sender)]
pub(crate) struct SenderBody {
    name: String,
    templates: Vec<TemplateBody>,
}

/// A template and its values, all of which are required.
#[derive(Serialize, ToSchema)]
#[schema(as = Template)]
struct TemplateBody {
    name: String,
    /// Whether an operator must approve each mail.
    needs_approval: bool,
    values: Vec<TemplateFieldBody>,
}

/// A value that a template takes.
#[derive(Serialize, ToSchema)]
#[schema(as = TemplateField)]
struct TemplateFieldBody {
    name: String,
    /// Its type.
    #[schema(value_type = String)]
    r#type: &'static str,
    /// What a `choice` may be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    choices: Vec<String>,
}

/// Lists the configured senders, and what their templates take.
///
/// Returns: 200; 401 without a valid key; 403 without one of the scopes.
pub(crate) async fn senders(
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let offers = feed.deps.desk.as_ref().map(|desk| desk.offers());
    let items = offers.unwrap_or_default().into_iter().map(SenderBody::new);
    let scopes = [Permission::Send, Permission::Reply];
    let body = SenderPageBody {
        items: items.collect(),
        scopes: scopes
            .into_iter()
            .filter(|scope| caller.permissions.contains(scope))
            .collect(),
    };
    Ok(reply::json(StatusCode::OK, &body))
}

impl SenderBody {
    fn new(offer: SenderOffer) -> Self {
        Self {
            name: offer.name.to_string(),
            templates: offer.templates.into_iter().map(TemplateBody::new).collect(),
        }
    }
}

impl TemplateBody {
    fn new(offer: TemplateOffer) -> Self {
        let field = |value: ValueOffer| TemplateFieldBody {
            name: value.name,
            r#type: value.kind,
            choices: value.choices,
        };
        Self {
            name: offer.name,
            needs_approval: offer.needs_approval,
            values: offer.values.into_iter().map(field).collect(),
        }
    }
}
