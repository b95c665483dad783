//! What stands in front of the proof: a password, by basic authentication or as a
//! token in the URL, and a list of the addresses that posts come from. For
//! providers that sign nothing the password is the only proof there is; for those
//! whose signature leaves the body out either is the second. A list alone proves
//! nothing: addresses are shared and are no secret.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::sources::SourceFlaw;
use crate::{Post, RawRequest, SourceSettings, VerifyError};

/// A password shorter than this is guessed, not known.
const LEAST_BYTES: usize = 12;

/// What a post must carry besides its signature.
#[derive(Debug)]
pub(crate) struct Gate {
    /// The whole value of the `Authorization` header.
    authorization: Option<SecretString>,
    /// The value of `token` in the URL's query.
    url_token: Option<SecretString>,
    /// Where posts may come from; anywhere when there are none.
    addresses: Vec<IpNet>,
}

/// Reads `192.0.2.7`, `192.0.2.0/24` and the like.
pub fn address_range(text: &str) -> Option<IpNet> {
    let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse::<IpNet>().ok().or_else(alone)
}

impl Gate {
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

    /// Whether a password is asked for.
    pub(crate) fn is_shut(&self) -> bool {
        self.authorization.is_some() || self.url_token.is_some()
    }

    /// Whether posts may come from some addresses alone.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Adds to a post what [`Self::check`] asks for.
    pub(crate) fn pass(&self, post: &mut Post) {
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
        if self.is_narrow() && !request.sender().is_some_and(|sender| self.lists(sender)) {
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

impl Gate {
    /// Whether an address is listed; one of IPv4 may come written as IPv6.
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

    fn gate(settings: &SourceSettings) -> Gate {
        Gate::build(settings).expect("a gate")
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
    fn basic_authentication_is_compared_whole() {
        let gate = gate(&basic());
        let with =
            |value: &str| gate.check(&RawRequest::new([("Authorization", value.as_bytes())], b""));
        assert_eq!(with("Basic QWxhZGRpbjpvcGVuIHNlc2FtZSBub3c="), Ok(()));
        for bad in [
            "",
            "Basic ",
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZSBub3c",
            "Bearer x",
        ] {
            assert_eq!(with(bad), Err(VerifyError::Credentials), "{bad:?}");
        }
        let none = gate.check(&RawRequest::new([], b""));
        assert_eq!(none, Err(VerifyError::HeaderMissing));
    }

    #[test]
    fn the_token_comes_once_in_the_query() {
        let gate = gate(&token());
        let with = |query| gate.check(&RawRequest::new([], b"").with_query(query));
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
    fn only_listed_addresses_pass_and_an_unknown_one_never() {
        let gate = gate(&SourceSettings {
            addresses: ["192.0.2.0/28", "198.51.100.7", "2001:db8::/32"]
                .map(str::to_owned)
                .into(),
            ..SourceSettings::default()
        });
        let from = |sender: Option<&str>| {
            let sender = sender.map(|text| text.parse().expect("an address"));
            gate.check(&RawRequest::new([], b"").with_sender(sender))
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
        assert!(!gate.is_shut(), "a list is no password");
    }

    #[test]
    fn what_is_no_address_is_no_gate() {
        for bad in ["", "192.0.2", "192.0.2.0/33", "example.com", "::1/129"] {
            let settings = SourceSettings {
                addresses: vec![bad.to_owned()],
                ..SourceSettings::default()
            };
            assert!(Gate::build(&settings).is_err(), "{bad}");
        }
    }

    #[test]
    fn half_a_password_or_a_short_one_is_no_gate() {
        let half = SourceSettings {
            password: None,
            ..basic()
        };
        assert!(Gate::build(&half).is_err());
        let short = SourceSettings {
            url_token: Some("short".into()),
            ..token()
        };
        assert!(Gate::build(&short).is_err());
        assert!(!gate(&SourceSettings::default()).is_shut());
        assert!(gate(&basic()).is_shut());
    }
}
