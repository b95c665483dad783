//! A password in front of the proof: basic authentication or a token in the
//! URL. For providers that sign nothing it is the only proof there is; for
//! those whose signature leaves the body out it is the second.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
        Ok(Self {
            authorization,
            url_token,
        })
    }

    /// Whether there is anything to check.
    pub(crate) fn is_shut(&self) -> bool {
        self.authorization.is_some() || self.url_token.is_some()
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
