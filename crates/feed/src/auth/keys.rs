//! All API keys: those of the configuration first, then those of the database.
//!
//! A token has 256 random bits, so a fast hash is enough: no dictionary can be tried
//! against it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pipeline::{ConsumerId, KeyLog, StoreError};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::caller::{Caller, scope_of};
use super::database_keys::DatabaseKeys;
use super::key_order::permissions_of;
use super::token::{PREFIX, random, sha256};

/// A token with fewer characters after the prefix could be guessed.
const MIN_LENGTH: usize = 32;
/// A longer text is refused before it is hashed.
const MAX_LENGTH: usize = 256;
/// The length of a generated token: 43 of 62 characters hold 256 bits.
const GENERATED_LENGTH: usize = 43;

/// One key of the configuration. Its consume rows carry the name it is configured
/// under.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySettings {
    /// The token in plain text: `mlk_` and at least 32 letters, digits, `-` or `_`.
    pub token: Option<SecretString>,
    /// Or its hash: `sha256:` and 64 hexadecimal digits.
    pub hash: Option<String>,
    /// The inboxes it may see besides its own; `["*"]` for all.
    #[serde(default)]
    pub inboxes: Vec<String>,
    /// What it may do: `attempt`, `feed`, `consume`, `operator`, `send`, `guard`. Empty
    /// means the first three.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// The configured keys are not valid. The message names the key and never shows its
/// token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// The name is not valid.
    #[error(
        "key `{0}`: a name is 1 to 256 visible ASCII characters and does not begin with `callback:`"
    )]
    Name(String),
    /// Neither a token nor a hash, or both.
    #[error("key `{0}`: give either `token` or `hash`")]
    OneSecret(String),
    /// Not a token.
    #[error("key `{0}`: a token is `mlk_` and 32 to 256 letters, digits, `-` or `_`")]
    Token(String),
    /// Not a hash.
    #[error("key `{0}`: a hash is `sha256:` and 64 hexadecimal digits")]
    Hash(String),
    /// An entry of the list is not an address.
    #[error("key `{0}`: `inboxes` is [\"*\"] or a list of addresses")]
    Inboxes(String),
    /// An entry of the list is not a scope.
    #[error("key `{0}`: `scopes` is a list of attempt, feed, consume and operator")]
    Scopes(String),
    /// Two names share one token, so it is unclear which consumer calls.
    #[error("key `{0}` has the same token as another key")]
    Repeated(String),
}

/// All valid keys, stored as SHA-256 hashes of their tokens.
pub struct Keys {
    configured: Vec<ConfiguredKey>,
    database: Option<DatabaseKeys>,
}

struct ConfiguredKey {
    hash: [u8; 32],
    caller: Caller,
}

impl Keys {
    /// Checks the configured keys and keeps only their hashes.
    pub fn build(settings: BTreeMap<String, KeySettings>) -> Result<Self, KeysError> {
        let mut keys: Vec<ConfiguredKey> = Vec::new();
        for (name, setting) in settings {
            let hash = hash_of(&name, &setting)?;
            if keys.iter().any(|key| key.hash == hash) {
                return Err(KeysError::Repeated(name.clone()));
            }
            let consumer = consumer_of(&name).ok_or_else(|| KeysError::Name(name.clone()))?;
            let scope = scope_of(&consumer, &setting.inboxes);
            let scope = scope.ok_or(KeysError::Inboxes(name.clone()))?;
            let permissions =
                permissions_of(&setting.scopes).ok_or(KeysError::Scopes(name.clone()))?;
            let caller = Caller {
                consumer,
                scope,
                permissions: permissions.into(),
                database_key: None,
            };
            keys.push(ConfiguredKey { hash, caller });
        }
        Ok(Self {
            configured: keys,
            database: None,
        })
    }

    /// Adds the keys of a database.
    #[must_use]
    pub fn with(self, log: Arc<dyn KeyLog>) -> Self {
        Self {
            database: Some(DatabaseKeys::new(log)),
            ..self
        }
    }

    /// Where keys are created and revoked, if there is a database of keys.
    pub(crate) fn log(&self) -> Option<&Arc<dyn KeyLog>> {
        self.database.as_ref().map(DatabaseKeys::log)
    }

    /// Whether the configuration has a key of this name.
    pub(crate) fn is_configured(&self, name: &ConsumerId) -> bool {
        self.configured
            .iter()
            .any(|key| key.caller.consumer == *name)
    }

    /// A new random token for the configuration.
    pub fn mint() -> String {
        format!("{PREFIX}{}", random(GENERATED_LENGTH))
    }

    /// The caller that a token belongs to.
    pub(crate) async fn caller(&self, token: &str) -> Result<Option<Caller>, StoreError> {
        if !is_token(token) {
            return Ok(None);
        }
        if let Some(caller) = self.configured(&sha256(token)) {
            return Ok(Some(caller.clone()));
        }
        match &self.database {
            Some(keys) => keys.caller(token).await,
            None => Ok(None),
        }
    }

    /// Whether a token is configured, or one with its id worked before.
    pub(crate) fn has_seen(&self, token: &str) -> bool {
        let in_database = |keys: &DatabaseKeys| keys.has_seen(token);
        is_token(token)
            && (self.configured(&sha256(token)).is_some()
                || self.database.as_ref().is_some_and(in_database))
    }

    /// Whether a token may belong to a key of the database. The answer costs at most
    /// one query a second for all tokens together, and may be a second old.
    pub(crate) async fn is_listed(&self, token: &str) -> Result<bool, StoreError> {
        match &self.database {
            Some(keys) => keys.is_listed(token).await,
            None => Ok(false),
        }
    }

    /// Whether a caller's key is still valid. A configured key is valid for as long
    /// as the process runs.
    pub(crate) async fn is_valid(&self, caller: &Caller) -> Result<bool, StoreError> {
        match (&self.database, &caller.database_key) {
            (Some(keys), Some(id)) => keys.is_valid(id).await,
            _ => Ok(true),
        }
    }

    /// Compares every key, each in constant time, so that the time it takes reveals
    /// nothing about any of them.
    fn configured(&self, hash: &[u8; 32]) -> Option<&Caller> {
        let mut found = None;
        for key in &self.configured {
            if bool::from(key.hash.ct_eq(hash)) {
                found = Some(&key.caller);
            }
        }
        found
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self
            .configured
            .iter()
            .map(|key| key.caller.consumer.as_str());
        f.debug_list().entries(names).finish()
    }
}

fn hash_of(name: &str, setting: &KeySettings) -> Result<[u8; 32], KeysError> {
    match (&setting.token, &setting.hash) {
        (Some(token), None) => {
            let token = token.expose_secret();
            is_token(token)
                .then(|| sha256(token))
                .ok_or_else(|| KeysError::Token(name.to_owned()))
        }
        (None, Some(hash)) => stored_hash(hash).ok_or_else(|| KeysError::Hash(name.to_owned())),
        (None, None) | (Some(_), Some(_)) => Err(KeysError::OneSecret(name.to_owned())),
    }
}

/// The consumer that a key of this name stands for; `None` for a name that is
/// reserved for callbacks.
fn consumer_of(name: &str) -> Option<ConsumerId> {
    let consumer: ConsumerId = name.parse().ok()?;
    (!consumer.is_callback()).then_some(consumer)
}

fn is_token(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|rest| {
        (MIN_LENGTH..=MAX_LENGTH).contains(&rest.len())
            && rest
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    })
}

fn stored_hash(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("sha256:")?.as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs.iter().map(|&pair| byte(pair)).collect();
    rest.is_empty().then_some(bytes?.try_into().ok()?)
}

fn byte([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |letter: u8| char::from(letter).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use pipeline::Permission;

    use super::*;

    const TOKEN: &str = "mlk_abcdefghijklmnopqrstuvwxyz012345";

    fn by_token(token: &str) -> KeySettings {
        KeySettings {
            token: Some(token.into()),
            hash: None,
            inboxes: vec!["*".to_owned()],
            scopes: Vec::new(),
        }
    }

    fn caller<'k>(keys: &'k Keys, token: &str) -> Option<&'k Caller> {
        keys.configured(&sha256(token))
    }

    fn keys(settings: KeySettings) -> Result<Keys, KeysError> {
        Keys::build(BTreeMap::from([("agent".to_owned(), settings)]))
    }

    #[tokio::test]
    async fn key_is_found_by_its_token_only() {
        let keys = keys(by_token(TOKEN)).unwrap();
        let found = keys.caller(TOKEN).await.unwrap();
        assert_eq!(found.unwrap().consumer.as_str(), "agent");
        for wrong in ["", "mlk_", &format!("{TOKEN}x"), &Keys::mint(), "agent"] {
            assert!(keys.caller(wrong).await.unwrap().is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn key_without_scopes_gets_the_usual_permissions() {
        let mut setting = by_token(TOKEN);
        let usual = keys(setting.clone()).unwrap();
        let may = |keys: &Keys| caller(keys, TOKEN).unwrap().permissions.to_vec();
        assert_eq!(may(&usual), Permission::DEFAULT);
        setting.scopes = vec!["operator".to_owned(), "feed".to_owned()];
        let named = keys(setting.clone()).unwrap();
        assert_eq!(may(&named), [Permission::Feed, Permission::Operator]);
        setting.scopes = vec!["root".to_owned()];
        assert_eq!(
            keys(setting).unwrap_err(),
            KeysError::Scopes("agent".to_owned())
        );
    }

    #[test]
    fn configured_hash_matches_its_token() {
        // printf %s "$TOKEN" | sha256sum
        let hash = "sha256:9471926a1c46274c090cc8276b84e65e129b476c482ef051bb146686057b83b2";
        let mut setting = by_token(TOKEN);
        setting.token = None;
        setting.hash = Some(hash.to_owned());
        let keys = keys(setting).unwrap();
        assert!(caller(&keys, TOKEN).is_some());
    }

    #[test]
    fn generated_tokens_differ_and_are_valid() {
        let (one, two) = (Keys::mint(), Keys::mint());
        assert_ne!(one, two);
        assert!(is_token(&one) && is_token(&two));
    }

    #[test]
    fn invalid_settings_return_an_error_with_the_key_name() {
        let err = |setting| keys(setting).unwrap_err();
        let name = || "agent".to_owned();
        assert_eq!(err(by_token("mlk_short")), KeysError::Token(name()));
        assert_eq!(
            err(by_token(&TOKEN.replace("mlk_", "key_"))),
            KeysError::Token(name())
        );
        let mut both = by_token(TOKEN);
        both.hash = Some("sha256:00".to_owned());
        assert_eq!(err(both.clone()), KeysError::OneSecret(name()));
        both.token = None;
        assert_eq!(err(both.clone()), KeysError::Hash(name()));
        both.hash = None;
        assert_eq!(err(both), KeysError::OneSecret(name()));
        for inboxes in [&["*", "a@inbox.test"][..], &["no address"]] {
            let mut setting = by_token(TOKEN);
            setting.inboxes = inboxes.iter().map(|&inbox| inbox.to_owned()).collect();
            assert_eq!(err(setting), KeysError::Inboxes(name()), "{inboxes:?}");
        }
    }

    #[test]
    fn key_named_like_a_callback_is_refused() {
        for (name, fits) in [
            ("callback:ci", false),
            ("callback:", false),
            ("callback", true),
            ("agent:callback:ci", true),
        ] {
            let built = Keys::build(BTreeMap::from([(name.to_owned(), by_token(TOKEN))]));
            let refused = built.err() == Some(KeysError::Name(name.to_owned()));
            assert_eq!(refused, !fits, "{name}");
        }
    }

    #[test]
    fn token_under_two_names_is_refused() {
        let settings = BTreeMap::from([
            ("a".to_owned(), by_token(TOKEN)),
            ("b".to_owned(), by_token(TOKEN)),
        ]);
        assert_eq!(
            Keys::build(settings).unwrap_err(),
            KeysError::Repeated("b".to_owned())
        );
    }

    #[test]
    fn debug_output_hides_tokens() {
        let setting = by_token(TOKEN);
        assert!(!format!("{setting:?}").contains(TOKEN));
        assert_eq!(format!("{:?}", keys(setting).unwrap()), "[\"agent\"]");
    }

    #[test]
    fn unknown_settings_are_refused() {
        let json = serde_json::json!({"token": TOKEN, "inboxes": ["*"], "colour": "red"});
        assert!(serde_json::from_value::<KeySettings>(json).is_err());
    }
}
