//! A secret in the configuration, and when it is valid.

use std::fmt;

use pipeline::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A secret and when it is valid. In the configuration it is a plain text, or
/// `{ secret = "…", not_before = "2026-01-01T00:00:00Z", not_after = "…" }`.
#[derive(Debug, Clone)]
pub struct SecretSetting {
    /// The secret, as the provider shows it.
    pub secret: SecretString,
    /// It is not valid before this moment.
    pub not_before: Option<Timestamp>,
    /// It is not valid after this moment.
    pub not_after: Option<Timestamp>,
}

impl From<SecretString> for SecretSetting {
    fn from(secret: SecretString) -> Self {
        Self {
            secret,
            not_before: None,
            not_after: None,
        }
    }
}

impl<'de> Deserialize<'de> for SecretSetting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SecretVisitor)
    }
}

struct SecretVisitor;

impl<'de> Visitor<'de> for SecretVisitor {
    type Value = SecretSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret, or a table of `secret`, `not_before` and `not_after`")
    }

    fn visit_str<E: Error>(self, secret: &str) -> Result<SecretSetting, E> {
        Ok(SecretString::from(secret).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<SecretSetting, A::Error> {
        let (mut secret, mut not_before, mut not_after) = (None, None, None);
        while let Some(key) = table.next_key::<String>()? {
            match key.as_str() {
                "secret" => secret = Some(SecretString::from(table.next_value::<String>()?)),
                "not_before" => not_before = Some(moment(&table.next_value::<String>()?)?),
                "not_after" => not_after = Some(moment(&table.next_value::<String>()?)?),
                other => {
                    return Err(A::Error::unknown_field(
                        other,
                        &["secret", "not_before", "not_after"],
                    ));
                }
            }
        }
        Ok(SecretSetting {
            secret: secret.ok_or_else(|| A::Error::missing_field("secret"))?,
            not_before,
            not_after,
        })
    }
}

fn moment<E: Error>(text: &str) -> Result<Timestamp, E> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(E::custom)?;
    Ok(Timestamp::from_millis(
        moment.unix_timestamp().saturating_mul(1000),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceSettings;

    #[test]
    fn secret_is_a_text_or_a_table_with_validity() {
        let json = r#"{"provider":"x","secrets":["a",
            {"secret":"b","not_after":"2026-01-01T00:00:00Z"}]}"#;
        let settings: SourceSettings = serde_json::from_str(json).expect("settings");
        assert_eq!(settings.secrets.len(), 2);
        let until = Timestamp::from_millis(1_767_225_600_000);
        assert_eq!(settings.secrets[1].not_after, Some(until));
        assert!(!format!("{settings:?}").contains("\"b\""));
    }
}
