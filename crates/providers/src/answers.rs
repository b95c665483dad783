//! What our status does at a provider. A duplicate and a new delivery are 200
//! everywhere; the rest is chosen so that wanted mail is kept: a real post that
//! fails its proof comes from a mis-set secret, and the mail must still be there
//! when the secret is set right.

/// The statuses with which a provider is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    /// The origin is not proven.
    pub unproven: u16,
    /// The body is longer than the limit.
    pub too_large: u16,
    /// The record could not be written.
    pub unavailable: u16,
    /// Stands in for 400, 408 and 415, of a body that broke off, came too slowly or
    /// in a form that is not taken, where such a status would cost mail.
    pub unread: Option<u16>,
}

impl Answers {
    /// For providers that try again on every status but 2xx.
    pub const PLAIN: Self = Self {
        unproven: 401,
        too_large: 413,
        unavailable: 503,
        unread: None,
    };
}
