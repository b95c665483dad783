//! What the provider accepted.

/// A mail that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The provider whose contract it came by.
    pub provider: &'static str,
    /// The key of the send, which the mail itself carries.
    pub key: String,
    /// The idempotency key of the request; empty without one.
    pub idempotency_key: String,
    /// The body of the request, or the message.
    pub body: String,
    /// The id that the provider gave it.
    pub id: String,
}

/// The key of a send in a message or in a request: `ml-` and 64 hexadecimal digits.
pub fn send_key(text: &str) -> Option<String> {
    text.match_indices("ml-").find_map(|(at, _)| {
        let key: String = text.get(at..)?.chars().take(67).collect();
        let digits = key.strip_prefix("ml-")?;
        let fits = digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit());
        fits.then_some(key)
    })
}
