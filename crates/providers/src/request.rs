//! A post as it came over the wire.

use crate::VerifyError;

/// The parts of a post that a provider may have signed, untouched.
#[derive(Debug, Clone)]
pub struct RawRequest<'a> {
    /// Every header line, repeats included, in the order they came.
    headers: Vec<(&'a str, &'a [u8])>,
    /// The body before any decoding.
    body: &'a [u8],
}

impl<'a> RawRequest<'a> {
    /// A post with these header lines and this body.
    pub fn new(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>, body: &'a [u8]) -> Self {
        Self {
            headers: headers.into_iter().collect(),
            body,
        }
    }

    /// The body before any decoding.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Whether a header came at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// The value of a header that must come exactly once. Of two, a proxy and
    /// we might believe different ones.
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
