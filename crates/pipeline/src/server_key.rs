//! The server's secret, which keys the digests in the database.

use std::fmt;

use crate::digest;

/// The server's own secret. All digests of content in the database are keyed with it.
///
/// With a plain hash, somebody who steals the database could try all million six-digit
/// codes in seconds, and so find the code in a mail of which the rest is known.
///
/// It is not rotated with the keys that seal values: after a change the database no
/// longer recognises duplicates of what it stored before.
#[derive(Clone)]
pub struct ServerKey([u8; 32]);

impl ServerKey {
    /// Wraps 32 secret bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Derives a key from a passphrase-like secret of any length.
    pub fn derive(secret: &str) -> Self {
        Self(digest::plain(&[b"maillatch server key", secret.as_bytes()]))
    }

    /// A message authentication code over these fields. The first field names the
    /// purpose, so that a tag made for one purpose is not valid for another.
    pub fn tag(&self, fields: &[&[u8]]) -> [u8; 16] {
        digest::half(self.long_tag(fields))
    }

    /// [`Self::tag`] at full length.
    pub(crate) fn long_tag(&self, fields: &[&[u8]]) -> [u8; 32] {
        digest::keyed(&self.0, fields)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_server_key_hides_its_bytes() {
        assert_eq!(
            format!("{:?}", ServerKey::derive("hunter2")),
            "ServerKey(…)"
        );
    }
}
