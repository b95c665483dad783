//! What a key looks like: `mlk_ID_SECRET_CHECK`.
//!
//! The prefix lets secret scanners know a leaked one. The id finds its row and is
//! no secret. The secret is 43 of 62 characters, 256 bits. The check is made of
//! all that stands before it, so that a mistyped or truncated key is refused
//! without a question to the database; it proves nothing, the hash does that.

use pipeline::{ConsumerId, InboxId, NewKey, Permission};
use rand::RngExt;
use rand::distr::Alphanumeric;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// What every token begins with.
pub(crate) const PREFIX: &str = "mlk_";
/// How many characters the parts of a token have.
const ID: usize = 10;
const SECRET: usize = 43;
const CHECK: usize = 6;

/// The digits of the check: those that the other parts are made of.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The longest name of a key, in characters.
pub(crate) const LONGEST_NAME: usize = 64;
/// How many inboxes one key may be given.
pub(crate) const MOST_INBOXES: usize = 100;
/// Ten years.
pub(crate) const LONGEST_LIFE: Duration = Duration::from_hours(24 * 3653);

/// A key that somebody wants.
#[derive(Debug, Clone)]
pub struct KeyOrder {
    /// The consumer that it is to speak for.
    pub name: String,
    /// What it may do; nothing said is `attempt`, `feed` and `consume`.
    pub scopes: Vec<String>,
    /// The inboxes it may see besides its own; `*` alone for all.
    pub inboxes: Vec<String>,
    /// For how long it is good.
    pub expires_in: Option<Duration>,
}

/// No key can be made as ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyOrderError {
    /// The name cannot be a consumer's.
    #[error("a name is 1 to 64 letters, digits, `-`, `_` or `.`")]
    Name,
    /// There is no such scope, or one is said twice.
    #[error("a scope is attempt, feed, consume or operator, each said once")]
    Scope,
    /// Something in the list is no address.
    #[error("an inbox is an address, or `*` alone for all; at most 100")]
    Inbox,
    /// The key would be over at once, or outlive everything.
    #[error("a key expires after a second at the earliest and ten years at the latest")]
    Expiry,
}

impl KeyOrder {
    /// Mints the key: its token, to be shown once, and what is kept of it.
    pub fn mint(self) -> Result<(SecretString, NewKey), KeyOrderError> {
        let name = self.checked_name()?;
        let permissions = self.permissions()?;
        self.check_inboxes()?;
        let bounds = Duration::from_secs(1)..=LONGEST_LIFE;
        if self.expires_in.is_some_and(|span| !bounds.contains(&span)) {
            return Err(KeyOrderError::Expiry);
        }
        let (id, token) = (random(ID), random(SECRET));
        let body = format!("{PREFIX}{id}_{token}");
        let token = format!("{body}_{}", check(&body));
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
        let is_plain = (1..=LONGEST_NAME).contains(&self.name.len())
            && self
                .name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        let name = self.name.parse().ok().filter(|_| is_plain);
        name.ok_or(KeyOrderError::Name)
    }

    fn permissions(&self) -> Result<Vec<Permission>, KeyOrderError> {
        permissions_of(&self.scopes).ok_or(KeyOrderError::Scope)
    }

    fn check_inboxes(&self) -> Result<(), KeyOrderError> {
        let is_all = matches!(self.inboxes.as_slice(), [all] if all == "*");
        let are_addresses = || {
            self.inboxes.len() <= MOST_INBOXES
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

/// The permissions behind these words, the usual ones behind none.
pub(crate) fn permissions_of(words: &[String]) -> Option<Vec<Permission>> {
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

/// The id in a token of this form whose check fits; nothing for any other text.
pub(crate) fn id_of(token: &str) -> Option<&str> {
    let (body, claimed) = token.rsplit_once('_')?;
    let (id, secret) = body.strip_prefix(PREFIX)?.split_once('_')?;
    let is_plain = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    (is_plain(id, ID) && is_plain(secret, SECRET) && claimed == check(body)).then_some(id)
}

/// The SHA-256 of a token, which is all that is kept of it.
pub(crate) fn sha256(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// `length` random letters and digits.
pub(crate) fn random(length: usize) -> String {
    let letters = rand::rng().sample_iter(Alphanumeric).take(length);
    letters.map(char::from).collect()
}

/// Six digits of base 62 hold 32 bits of a digest.
fn check(body: &str) -> String {
    let [a, b, c, d, ..] = sha256(body);
    let mut rest = u32::from_be_bytes([a, b, c, d]);
    let mut digits = [b'0'; CHECK];
    for digit in digits.iter_mut().rev() {
        let value = usize::try_from(rest % 62).unwrap_or(0);
        *digit = DIGITS.get(value).copied().unwrap_or(b'0');
        rest /= 62;
    }
    digits.map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

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
    fn a_minted_token_names_its_row_and_its_hash() {
        let (token, key) = order().mint().unwrap();
        let token = token.expose_secret();
        assert_eq!(id_of(token), Some(key.id.as_str()));
        assert_eq!(key.hash, sha256(token));
        assert_eq!(token.len(), 4 + ID + 1 + SECRET + 1 + CHECK);
        assert_eq!(key.permissions, Permission::DEFAULT);
    }

    #[test]
    fn every_changed_character_is_noticed() {
        let (token, _) = order().mint().unwrap();
        let token = token.expose_secret();
        for place in 0..token.len() {
            let mut changed = token.as_bytes().to_vec();
            changed[place] = if changed[place] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(id_of(&changed), None, "{changed}");
        }
        assert_eq!(id_of(token.strip_suffix(|_: char| true).unwrap()), None);
        assert_eq!(id_of(&format!("{token}0")), None);
    }

    #[test]
    fn odd_orders_are_named_errors() {
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
