//! How a request is read and answered.

pub(crate) mod access;
pub(crate) mod authenticate;
pub(crate) mod body;
pub(crate) mod field;
pub(crate) mod idempotency;
pub(crate) mod problem;
pub(crate) mod query;
pub(crate) mod reply;
pub(crate) mod timeout;
