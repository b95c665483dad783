//! Which hosts a link may lead to.

use thiserror::Error;
use url::Url;

use crate::link::host;

/// The hosts an agent may be sent to.
///
/// An entry is an exact host (`login.example.com`) or everything below a domain
/// (`*.example.com`, which leaves out `example.com` itself), with a path prefix
/// if wanted (`example.com/verify/`).
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

/// Why an entry cannot stand in an allowlist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AllowlistError {
    /// Not a host name a link could lead to.
    #[error("allowlist entry {0:?} is not a public host name")]
    NotAHost(String),
    /// A wildcard over everybody's domains.
    #[error("allowlist entry {0:?} opens a public suffix: name an exact host")]
    PublicSuffix(String),
    /// A host whose letters imitate another one.
    #[error("allowlist entry {0:?} mixes or imitates scripts")]
    Confusable(String),
}

impl Allowlist {
    /// Every link that passes the gate is allowed, with the verdict `unlisted`.
    pub fn any() -> Self {
        Self { entries: None }
    }

    /// Reads entries; one bad entry spoils the list, so that it shows at start-up.
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

    /// The entry that admits the URL, or `unlisted` where there is no list.
    pub(crate) fn admits(&self, url: &Url, host: &str) -> Option<&str> {
        match &self.entries {
            None => Some("unlisted"),
            Some(entries) => {
                let entry = entries.iter().find(|entry| entry.admits(url, host))?;
                Some(&entry.written)
            }
        }
    }

    /// Whether the host is named, whatever the path.
    pub(crate) fn names(&self, host: &str) -> bool {
        let Some(entries) = &self.entries else {
            return true;
        };
        entries.iter().any(|entry| entry.names(host))
    }

    /// An international host has to be listed letter by letter.
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

/// Escaped dots, slashes and backslashes leave a prefix after it was checked.
fn is_disguised(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    ["%2e", "%2f", "%5c", "%25"]
        .iter()
        .any(|escape| path.contains(escape))
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
    fn an_exact_host_admits_itself_only() {
        assert!(admits(&["example.com"], "https://example.com/x"));
        assert!(!admits(&["example.com"], "https://www.example.com/x"));
        assert!(!admits(&["example.com"], "https://example.com.evil.test/"));
    }

    #[test]
    fn a_wildcard_admits_what_is_below_on_a_dot_boundary() {
        assert!(admits(&["*.example.com"], "https://a.b.example.com/"));
        assert!(!admits(&["*.example.com"], "https://example.com/"));
        assert!(!admits(&["*.example.com"], "https://badexample.com/"));
    }

    #[test]
    fn a_path_prefix_cannot_be_left_by_escapes() {
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
    }

    #[test]
    fn a_wildcard_over_a_public_suffix_is_a_start_up_error() {
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
    fn what_is_no_public_host_is_no_entry() {
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
    fn a_host_that_imitates_another_is_no_entry() {
        assert!(matches!(
            Allowlist::parse(["xn--pple-43d.com"]),
            Err(AllowlistError::Confusable(_))
        ));
    }
}
