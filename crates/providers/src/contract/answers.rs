//! The statuses that refuse a post. New deliveries and duplicates get 200 from every
//! source. The other statuses are chosen so that the provider keeps the mail: an
//! authentic post that is refused usually means a wrong secret, and the mail must
//! still be there when the secret is corrected.

/// The statuses that refuse a post of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    /// The origin is not proven.
    pub unproven: u16,
    /// The body is longer than the limit.
    pub too_large: u16,
    /// The delivery could not be recorded.
    pub unavailable: u16,
    /// Replaces 400, 408 and 415 (a body that is cut off, too slow, compressed or of no
    /// usable type) where the provider would give the mail up on such a status.
    pub unread: Option<u16>,
}

impl Answers {
    /// For providers that only retry on 5xx: every refusal is a 503.
    pub const RETRY_ON_5XX: Self = Self {
        unproven: 503,
        too_large: 503,
        unavailable: 503,
        unread: Some(503),
    };

    /// For providers that retry on every status but 2xx.
    pub const PLAIN: Self = Self {
        unproven: 401,
        too_large: 413,
        unavailable: 503,
        unread: None,
    };
}
