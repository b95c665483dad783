//! A post as it was received.

use std::net::IpAddr;

use crate::proof::VerifyError;
use crate::proof::certificate::Certificate;

/// The parts of a post that a provider may have signed, unchanged.
#[derive(Debug, Clone)]
pub struct RawRequest<'a> {
    /// Every header line, repeated ones included, in order.
    headers: Vec<(&'a str, &'a [u8])>,
    /// The body before any decoding.
    body: &'a [u8],
    /// The query of the URL, without the `?`.
    query: &'a str,
    /// The address it came from, if known.
    sender: Option<IpAddr>,
    /// The certificate that the post says it is signed with, once it was fetched.
    certificate: Option<&'a Certificate>,
}

impl<'a> RawRequest<'a> {
    /// A post with these header lines and this body.
    pub fn new(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>, body: &'a [u8]) -> Self {
        Self {
            headers: headers.into_iter().collect(),
            body,
            query: "",
            sender: None,
            certificate: None,
        }
    }

    /// The same post, sent to a URL with this query.
    #[must_use]
    pub fn with_query(self, query: &'a str) -> Self {
        Self { query, ..self }
    }

    /// The same post, sent from this address.
    #[must_use]
    pub fn with_sender(self, sender: Option<IpAddr>) -> Self {
        Self { sender, ..self }
    }

    /// The same post with the certificate that it is signed with. It must have been fetched
    /// from the URL that [`crate::Source::certificate_url`] returned for this post.
    #[must_use]
    pub fn with_certificate(self, certificate: Option<&'a Certificate>) -> Self {
        Self {
            certificate,
            ..self
        }
    }

    /// The body before any decoding.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The query of the URL, without the `?`.
    pub(crate) fn query(&self) -> &'a str {
        self.query
    }

    /// The address it came from, if known.
    pub(crate) fn sender(&self) -> Option<IpAddr> {
        self.sender
    }

    /// The certificate that was fetched for it.
    pub(crate) fn certificate(&self) -> Option<&'a Certificate> {
        self.certificate
    }

    /// The content type; empty unless it came exactly once.
    pub(crate) fn content_type(&self) -> &'a str {
        self.only("content-type")
            .ok()
            .and_then(|value| str::from_utf8(value).ok())
            .unwrap_or_default()
    }

    /// Whether the post has a header of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// The value of a header that must come exactly once: of two values, a proxy and
    /// we could take different ones.
    pub(crate) fn only(&self, name: &str) -> Result<&'a [u8], VerifyError> {
        let mut values = self.values(name);
        let value = values.next().ok_or(VerifyError::HeaderMissing)?;
        match values.next() {
            None => Ok(value),
            Some(_) => Err(VerifyError::HeaderRepeated),
        }
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(have, _)| have.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }
}
