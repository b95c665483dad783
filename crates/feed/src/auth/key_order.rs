//! An order for a new API key, checked before the key is created.

use std::time::Duration;

use pipeline::{ConsumerId, InboxId, NewKey, Permission};
use secrecy::SecretString;

use super::token::{generate, sha256};

/// The longest name of a key, in characters.
pub(crate) const MAX_NAME_LENGTH: usize = 64;
/// The most inboxes that one key may be given.
pub(crate) const MAX_INBOXES: usize = 100;
/// Ten years.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_hours(24 * 3653);

/// The key to create.
#[derive(Debug, Clone)]
pub struct KeyOrder {
    /// The consumer that the key stands for.
    pub name: String,
    /// What it may do; empty means `attempt`, `feed` and `consume`.
    pub scopes: Vec<String>,
    /// The inboxes it may see besides its own; `*` alone for all.
    pub inboxes: Vec<String>,
    /// For how long it is valid.
    pub expires_in: Option<Duration>,
}

/// No key can be created from this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyOrderError {
    /// The name is not valid.
    #[error("a name is 1 to 64 letters, digits, `-`, `_` or `.`")]
    Name,
    /// A scope is unknown or repeated.
    #[error("a scope is attempt, feed, consume, operator, send or guard, each at most once")]
    Scope,
    /// An entry of the list is not an address.
    #[error("an inbox is an address, or `*` alone for all; at most 100")]
    Inbox,
    /// The lifetime is too short or too long.
    #[error("a key expires after one second at the earliest and ten years at the latest")]
    Expiry,
}

impl KeyOrder {
    /// Creates the key: its token, which is shown once, and the row to store.
    pub fn mint(self) -> Result<(SecretString, NewKey), KeyOrderError> {
        let name = self.checked_name()?;
        let permissions = permissions_of(&self.scopes).ok_or(KeyOrderError::Scope)?;
        self.check_inboxes()?;
        let lifetimes = Duration::from_secs(1)..=MAX_LIFETIME;
        if self
            .expires_in
            .is_some_and(|lifetime| !lifetimes.contains(&lifetime))
        {
            return Err(KeyOrderError::Expiry);
        }
        let (id, token) = generate();
        let key = NewKey {
            hash: sha256(&token),
            id,
            name,
            permissions,
            inboxes: self.inboxes,
            expires_in: self.expires_in,
            asked: None,
        };
        Ok((SecretString::from(token), key))
    }

    fn checked_name(&self) -> Result<ConsumerId, KeyOrderError> {
        let is_plain = (1..=MAX_NAME_LENGTH).contains(&self.name.len())
            && self
                .name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        let name = self.name.parse().ok().filter(|_| is_plain);
        name.ok_or(KeyOrderError::Name)
    }

    fn check_inboxes(&self) -> Result<(), KeyOrderError> {
        let is_all = matches!(self.inboxes.as_slice(), [all] if all == "*");
        let are_addresses = || {
            self.inboxes.len() <= MAX_INBOXES
                && self
                    .inboxes
                    .iter()
                    .all(|text| text.parse::<InboxId>().is_ok())
        };
        (is_all || are_addresses())
            .then_some(())
            .ok_or(KeyOrderError::Inbox)
    }
}

/// The permissions with these names, or the usual ones if none is named. `None` if a
/// name is unknown or repeated.
pub(super) fn permissions_of(words: &[String]) -> Option<Vec<Permission>> {
    if words.is_empty() {
        return Some(Permission::DEFAULT.to_vec());
    }
    let named: Option<Vec<Permission>> = words
        .iter()
        .map(|word| Permission::from_word(word))
        .collect();
    let mut all = named?;
    all.sort_unstable();
    all.dedup();
    (all.len() == words.len()).then_some(all)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::super::token::id_of;
    use super::*;

    fn order() -> KeyOrder {
        KeyOrder {
            name: "agent-7".to_owned(),
            scopes: Vec::new(),
            inboxes: Vec::new(),
            expires_in: None,
        }
    }

    #[test]
    fn new_key_stores_the_hash_of_its_token() {
        let (token, key) = order().mint().unwrap();
        let token = token.expose_secret();
        assert_eq!(id_of(token), Some(key.id.as_str()));
        assert_eq!(key.hash, sha256(token));
        assert_eq!(key.permissions, Permission::DEFAULT);
    }

    #[test]
    fn invalid_orders_return_the_field_that_is_wrong() {
        let err = |change: fn(&mut KeyOrder)| {
            let mut order = order();
            change(&mut order);
            order.mint().map(|_| ()).unwrap_err()
        };
        assert_eq!(err(|o| o.name = "a b".into()), KeyOrderError::Name);
        assert_eq!(err(|o| o.name = String::new()), KeyOrderError::Name);
        assert_eq!(err(|o| o.name = "a/b".into()), KeyOrderError::Name);
        assert_eq!(err(|o| o.name = "callback:ci".into()), KeyOrderError::Name);
        assert_eq!(
            err(|o| o.scopes = vec!["root".into()]),
            KeyOrderError::Scope
        );
        assert_eq!(
            err(|o| o.scopes = vec!["feed".into(), "feed".into()]),
            KeyOrderError::Scope
        );
        assert_eq!(
            err(|o| o.inboxes = vec!["*".into(), "a@b.test".into()]),
            KeyOrderError::Inbox
        );
        assert_eq!(
            err(|o| o.expires_in = Some(Duration::ZERO)),
            KeyOrderError::Expiry
        );
    }
}
