//! The settings of mail that is sent. `deploy/default.toml` says what each key means.

use serde::Deserialize;

use super::span::Span;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Send {
    pub(crate) in_worker: bool,
    pub(crate) every: Span,
    pub(crate) concurrency: usize,
    pub(crate) timeout: Span,
    pub(crate) smtp_timeout: Span,
    pub(crate) lease_margin: Span,
    pub(crate) give_up: Span,
    pub(crate) hold: Span,
    pub(crate) per_day: u32,
    pub(crate) settle_first: Span,
    pub(crate) settle_ceiling: Span,
    pub(crate) retry_after: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    pub(crate) burst_window: Span,
    pub(crate) burst: u32,
    pub(crate) day: u32,
    pub(crate) person_burst: u32,
    pub(crate) person_day: u32,
    pub(crate) callback: String,
}
