//! What another extractor answered. `tests/accuracy/peers` writes it.

use serde::Deserialize;

use crate::tally::Tally;

#[derive(Debug, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) registry: String,
    pub(crate) version: String,
    #[serde(flatten)]
    pub(crate) codes: Tally,
}
