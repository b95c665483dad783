//! `/openapi.json`, `/docs` and `/`: the description of the API.

mod constraints;
mod docs_page;
mod document;
mod examples;
mod front_page;
mod hooks;
mod html;
mod operation;
mod optional_fields;
mod pages;
mod parameters;
mod responses;
mod tag;

pub(crate) use pages::routes;
