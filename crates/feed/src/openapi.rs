//! `/openapi.json` and `/docs`: the description of the API.

mod constraints;
mod docs_page;
mod document;
mod operation;

pub(crate) use docs_page::routes;
