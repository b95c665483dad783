//! Query parameters.

use actix_web::{HttpRequest, web};
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// Reads the query parameters. The type refuses unknown ones.
pub(crate) fn parameters_of<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, Problem> {
    web::Query::from_query(request.query_string())
        .map(web::Query::into_inner)
        .map_err(|_invalid| Problem::InvalidParameter)
}
