//! The hosts that links may lead to.

use thiserror::Error;
use url::Url;

use crate::host;

/// The hosts that links may lead to.
///
/// An entry is an exact host (`login.example.com`) or every host below a domain
/// (`*.example.com`, which does not include `example.com`). A path prefix may follow
/// (`example.com/verify/`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowlist {
    entries: Option<Vec<Entry>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    written: String,
    host: String,
    below: bool,
    path: Option<String>,
}

/// Why an entry is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AllowlistError {
    /// Not a host name that a link could lead to.
    #[error("allowlist entry {0:?} is not a public host name")]
    NotAHost(String),
    /// A wildcard below a public suffix, which would admit anybody's domains.
    #[error("allowlist entry {0:?} is a wildcard below a public suffix; use an exact host")]
    PublicSuffix(String),
    /// A host whose letters imitate another one.
    #[error("allowlist entry {0:?} mixes scripts or imitates ASCII letters")]
    Confusable(String),
}

impl Allowlist {
    /// A list that admits every link which passes the other checks, as `unlisted`.
    pub fn any() -> Self {
        Self { entries: None }
    }

    /// Parses entries. One bad entry is an error, so that it is noticed at start-up.
    pub fn parse<I, S>(entries: I) -> Result<Self, AllowlistError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let entries: Result<_, _> = entries
            .into_iter()
            .map(|entry| Entry::parse(entry.as_ref()))
            .collect();
        Ok(Self {
            entries: Some(entries?),
        })
    }

    /// The entry that admits the URL, or `unlisted` if every host is allowed.
    pub(crate) fn admits(&self, url: &Url, host: &str) -> Option<&str> {
        match &self.entries {
            None => Some("unlisted"),
            Some(entries) => {
                let entry = entries.iter().find(|entry| entry.admits(url, host))?;
                Some(&entry.written)
            }
        }
    }

    /// Whether an entry matches the host, whatever the path.
    pub(crate) fn names(&self, host: &str) -> bool {
        let Some(entries) = &self.entries else {
            return true;
        };
        entries.iter().any(|entry| entry.names(host))
    }

    /// Whether an entry without a wildcard is this host.
    pub(crate) fn names_exactly(&self, host: &str) -> bool {
        let Some(entries) = &self.entries else {
            return false;
        };
        entries
            .iter()
            .any(|entry| !entry.below && entry.host == host)
    }

    pub(crate) fn is_any(&self) -> bool {
        self.entries.is_none()
    }
}

impl Entry {
    fn parse(written: &str) -> Result<Self, AllowlistError> {
        let bad = || AllowlistError::NotAHost(written.to_owned());
        let trimmed = written.trim();
        let (name, path) = match trimmed.split_once('/') {
            Some((name, path)) => (name, Some(format!("/{path}"))),
            None => (trimmed, None),
        };
        let (name, below) = match name.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (name, false),
        };
        if below && name.is_ascii() && host::registrable(&name.to_ascii_lowercase()).is_none() {
            return Err(AllowlistError::PublicSuffix(written.to_owned()));
        }
        let url = Url::parse(&format!("https://{name}/")).map_err(|_parse| bad())?;
        let host = host::domain(&url).map_err(|_gate| bad())?.to_owned();
        let plain = url.username().is_empty() && url.port().is_none() && url.path() == "/";
        if !plain || !name.is_ascii() || !host.eq_ignore_ascii_case(name) {
            return Err(bad());
        }
        if host::is_confusable(&host) {
            return Err(AllowlistError::Confusable(written.to_owned()));
        }
        host::registrable(&host).ok_or_else(bad)?;
        Ok(Self {
            written: trimmed.to_owned(),
            host,
            below,
            path,
        })
    }

    fn names(&self, host: &str) -> bool {
        if self.below {
            host.strip_suffix(&self.host)
                .is_some_and(|sub| sub.ends_with('.') && sub.len() > 1)
        } else {
            host == self.host
        }
    }

    fn admits(&self, url: &Url, host: &str) -> bool {
        let path = url.path();
        self.names(host)
            && self
                .path
                .as_deref()
                .is_none_or(|prefix| path.starts_with(prefix) && !is_disguised(path))
    }
}

/// Whether a path has dots, slashes or backslashes in a form that some servers decode
/// or cut, and so could leave the checked prefix.
fn is_disguised(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let escapes = [
        "%2e", "%2f", "%5c", "%25", "%00", "%u", "%c0", "%c1", "%e0%80", "%e0%81", "%f0%80",
    ];
    escapes.iter().any(|escape| path.contains(escape))
        || path.split('/').any(|segment| segment.starts_with(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(entries: &[&str], url: &str) -> bool {
        let url = Url::parse(url).unwrap();
        Allowlist::parse(entries)
            .unwrap()
            .admits(&url, url.host_str().unwrap())
            .is_some()
    }

    #[test]
    fn exact_entry_admits_only_its_host() {
        assert!(admits(&["example.com"], "https://example.com/x"));
        assert!(!admits(&["example.com"], "https://www.example.com/x"));
        assert!(!admits(&["example.com"], "https://example.com.evil.test/"));
    }

    #[test]
    fn wildcard_admits_subdomains_on_a_dot_boundary() {
        assert!(admits(&["*.example.com"], "https://a.b.example.com/"));
        assert!(!admits(&["*.example.com"], "https://example.com/"));
        assert!(!admits(&["*.example.com"], "https://badexample.com/"));
    }

    #[test]
    fn escaped_path_does_not_match_a_path_prefix() {
        assert!(admits(
            &["example.com/verify/"],
            "https://example.com/verify/a"
        ));
        assert!(!admits(
            &["example.com/verify/"],
            "https://example.com/other"
        ));
        assert!(!admits(
            &["example.com/verify/"],
            "https://example.com/verify/..%2f..%2fadmin"
        ));
        assert!(!admits(
            &["example.com/verify/"],
            "https://example.com/..%2f..%2fadmin"
        ));
        for path in [
            "..;/admin",
            "..%00/admin",
            "%c0%ae%c0%ae/admin",
            "..;x/admin",
        ] {
            let url = format!("https://example.com/verify/{path}");
            assert!(!admits(&["example.com/verify/"], &url), "{url}");
        }
    }

    #[test]
    fn wildcard_below_a_public_suffix_is_an_error() {
        for entry in [
            "*.github.io",
            "*.co.uk",
            "*.com",
            "*.vercel.app",
            "*.s3.amazonaws.com",
        ] {
            let error = Allowlist::parse([entry]).unwrap_err();
            assert!(
                matches!(error, AllowlistError::PublicSuffix(_)),
                "{entry}: {error}"
            );
        }
    }

    #[test]
    fn internal_and_malformed_hosts_are_errors() {
        for entry in [
            "",
            "localhost",
            "127.0.0.1",
            "0x7f.1",
            "a b.com",
            "https://a.com",
            "a.com:8443",
            "u@a.com",
            "com",
            "-a.com",
            "a_b.com",
            "printer.local",
        ] {
            assert!(Allowlist::parse([entry]).is_err(), "{entry}");
        }
    }

    #[test]
    fn host_that_imitates_another_is_an_error() {
        assert!(matches!(
            Allowlist::parse(["xn--pple-43d.com"]),
            Err(AllowlistError::Confusable(_))
        ));
    }
}
