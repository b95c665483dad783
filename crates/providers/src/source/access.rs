//! What every post of a source must show besides a signature: a password (by basic
//! authentication or as a token in the URL) and a listed IP address, as configured.
//!
//! For providers that sign nothing, the password is the only proof. For those whose
//! signature does not cover the body, a password or a list is a second proof. A list
//! alone is never enough: addresses are shared and not secret.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::contract::sample::Post;
use crate::flaw::SourceFlaw;
use crate::proof::VerifyError;
use crate::proof::request::RawRequest;
use crate::settings::SourceSettings;

/// The shortest password; a shorter one could be guessed.
const LEAST_BYTES: usize = 12;

/// What a post must show besides a signature.
#[derive(Debug)]
pub(crate) struct AccessRules {
    /// The expected value of the `Authorization` header.
    authorization: Option<SecretString>,
    /// The expected `token` in the URL's query.
    url_token: Option<SecretString>,
    /// The addresses that posts may come from; any if empty.
    addresses: Vec<IpNet>,
}

/// Reads an IP address or a range, such as `192.0.2.7` or `192.0.2.0/24`.
pub fn address_range(text: &str) -> Option<IpNet> {
    let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse::<IpNet>().ok().or_else(alone)
}

impl AccessRules {
    pub(crate) fn build(settings: &SourceSettings) -> Result<Self, SourceFlaw> {
        let authorization = match (&settings.username, &settings.password) {
            (None, None) => None,
            (Some(username), Some(password)) => {
                let pair = format!("{username}:{}", long_enough(password)?.expose_secret());
                Some(SecretString::from(format!(
                    "Basic {}",
                    STANDARD.encode(pair)
                )))
            }
            _ => return Err(SourceFlaw::HalfBasicAuth),
        };
        let url_token = match &settings.url_token {
            None => None,
            Some(token) => Some(long_enough(token)?.clone()),
        };
        let addresses = settings.addresses.iter().map(|text| address_range(text));
        Ok(Self {
            authorization,
            url_token,
            addresses: addresses
                .collect::<Option<_>>()
                .ok_or(SourceFlaw::Unusable("addresses"))?,
        })
    }

    /// Whether a password is required.
    pub(crate) fn needs_password(&self) -> bool {
        self.authorization.is_some() || self.url_token.is_some()
    }

    /// Whether posts may only come from listed addresses.
    pub(crate) fn needs_listed_address(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Adds the password that [`Self::check`] requires to a post.
    pub(crate) fn add_password(&self, post: &mut Post) {
        if let Some(expected) = &self.authorization {
            let value = expected.expose_secret().to_owned();
            post.headers.push(("authorization".to_owned(), value));
        }
        if let Some(expected) = &self.url_token {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("token", expected.expose_secret());
            post.query = Some(query.finish());
        }
    }

    pub(crate) fn check(&self, request: &RawRequest<'_>) -> Result<(), VerifyError> {
        if self.needs_listed_address() && !request.sender().is_some_and(|sender| self.lists(sender))
        {
            return Err(VerifyError::AddressForeign);
        }
        if let Some(expected) = &self.authorization {
            compare(expected, request.only("authorization")?)?;
        }
        if let Some(expected) = &self.url_token {
            let mut tokens = form_urlencoded::parse(request.query().as_bytes())
                .filter(|(name, _)| name == "token")
                .map(|(_, value)| value);
            let (Some(token), None) = (tokens.next(), tokens.next()) else {
                return Err(VerifyError::Credentials);
            };
            compare(expected, token.as_bytes())?;
        }
        Ok(())
    }
}

impl AccessRules {
    /// Whether an address is listed. An IPv4 address may be written as IPv6.
    fn lists(&self, sender: IpAddr) -> bool {
        let sender = sender.to_canonical();
        self.addresses.iter().any(|range| range.contains(&sender))
    }
}

fn long_enough(secret: &SecretString) -> Result<&SecretString, SourceFlaw> {
    if secret.expose_secret().len() >= LEAST_BYTES {
        Ok(secret)
    } else {
        Err(SourceFlaw::ShortPassword(LEAST_BYTES))
    }
}

fn compare(expected: &SecretString, given: &[u8]) -> Result<(), VerifyError> {
    if expected.expose_secret().as_bytes().ct_eq(given).into() {
        Ok(())
    } else {
        Err(VerifyError::Credentials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(settings: &SourceSettings) -> AccessRules {
        AccessRules::build(settings).expect("valid settings")
    }

    fn basic() -> SourceSettings {
        SourceSettings {
            username: Some("Aladdin".to_owned()),
            password: Some("open sesame now".into()),
            ..SourceSettings::default()
        }
    }

    fn token() -> SourceSettings {
        SourceSettings {
            url_token: Some("a-long-token".into()),
            ..SourceSettings::default()
        }
    }

    #[test]
    fn wrong_or_missing_basic_authentication_is_refused() {
        let rules = rules(&basic());
        let with =
            |value: &str| rules.check(&RawRequest::new([("Authorization", value.as_bytes())], b""));
        assert_eq!(with("Basic QWxhZGRpbjpvcGVuIHNlc2FtZSBub3c="), Ok(()));
        for bad in [
            "",
            "Basic ",
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZSBub3c",
            "Bearer x",
        ] {
            assert_eq!(with(bad), Err(VerifyError::Credentials), "{bad:?}");
        }
        let none = rules.check(&RawRequest::new([], b""));
        assert_eq!(none, Err(VerifyError::HeaderMissing));
    }

    #[test]
    fn url_token_must_come_exactly_once() {
        let rules = rules(&token());
        let with = |query| rules.check(&RawRequest::new([], b"").with_query(query));
        assert_eq!(with("a=1&token=a-long-token"), Ok(()));
        assert_eq!(with("token=a%2Dlong-token"), Ok(()));
        for bad in [
            "",
            "token=",
            "token=x",
            "token=a-long-token&token=a-long-token",
        ] {
            assert_eq!(with(bad), Err(VerifyError::Credentials), "{bad:?}");
        }
    }

    #[test]
    fn unlisted_or_unknown_address_is_refused() {
        let rules = rules(&SourceSettings {
            addresses: ["192.0.2.0/28", "198.51.100.7", "2001:db8::/32"]
                .map(str::to_owned)
                .into(),
            ..SourceSettings::default()
        });
        let from = |sender: Option<&str>| {
            let sender = sender.map(|text| text.parse().expect("an address"));
            rules.check(&RawRequest::new([], b"").with_sender(sender))
        };
        for good in [
            "192.0.2.15",
            "198.51.100.7",
            "2001:db8::1",
            "::ffff:192.0.2.1",
        ] {
            assert_eq!(from(Some(good)), Ok(()), "{good}");
        }
        for bad in [
            Some("192.0.2.16"),
            Some("198.51.100.8"),
            Some("2001:db9::1"),
            None,
        ] {
            assert_eq!(from(bad), Err(VerifyError::AddressForeign), "{bad:?}");
        }
        assert!(!rules.needs_password(), "a list is not a password");
    }

    #[test]
    fn malformed_address_range_is_refused() {
        for bad in ["", "192.0.2", "192.0.2.0/33", "example.com", "::1/129"] {
            let settings = SourceSettings {
                addresses: vec![bad.to_owned()],
                ..SourceSettings::default()
            };
            assert!(AccessRules::build(&settings).is_err(), "{bad}");
        }
    }

    #[test]
    fn password_without_username_or_too_short_is_refused() {
        let half = SourceSettings {
            password: None,
            ..basic()
        };
        assert!(AccessRules::build(&half).is_err());
        let short = SourceSettings {
            url_token: Some("short".into()),
            ..token()
        };
        assert!(AccessRules::build(&short).is_err());
        assert!(!rules(&SourceSettings::default()).needs_password());
        assert!(rules(&basic()).needs_password());
    }
}
