//! Hosts that a URL may redirect its visitor to.

use url::Url;

use crate::allowlist::Allowlist;
use crate::host;

/// Redirectors in the field undo two rounds of escaping.
const ROUNDS: usize = 2;

/// The hosts that the parameters of a URL name, collected once and then compared
/// with any number of allowlists.
#[derive(Debug, Default)]
pub(super) struct Redirects {
    hosts: Vec<String>,
    /// A parameter names a target that no allowlist can admit.
    is_unsafe: bool,
}

impl Redirects {
    /// Reads the parameters of a URL.
    pub(super) fn of(url: &Url) -> Self {
        let mut redirects = Self::default();
        let fragment = url.fragment().unwrap_or_default();
        let route = fragment.split_once('?').map_or("", |(_, query)| query);
        let bare = Some(fragment).filter(|fragment| fragment.contains('='));
        let queries = [
            url.query().unwrap_or_default(),
            route,
            bare.unwrap_or_default(),
        ];
        for (key, value) in queries
            .iter()
            .flat_map(|query| url::form_urlencoded::parse(query.as_bytes()))
        {
            redirects.add_escaped(&key);
            redirects.add_escaped(&value);
        }
        redirects
    }

    /// Whether a parameter names a host outside the allowlist. Sign-in services
    /// redirect to other hosts of theirs, so a host that is listed is fine.
    pub(super) fn leave(&self, allowed: &Allowlist) -> bool {
        self.is_unsafe || self.hosts.iter().any(|host| !allowed.names(host))
    }

    fn add_escaped(&mut self, value: &str) {
        let mut value = value.to_owned();
        for _ in 0..=ROUNDS {
            self.add(&value);
            match decode(&value) {
                Some(decoded) if decoded != value => value = decoded,
                _ => return,
            }
        }
    }

    /// Browsers skip leading blanks and controls, read `\` as `/`, and read two
    /// slashes as "same scheme, other host".
    fn add(&mut self, value: &str) {
        let skip = |c: char| c.is_whitespace() || c.is_control();
        let cleaned: String = value
            .trim_start_matches(skip)
            .chars()
            .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
            .map(|c| if c == '\\' { '/' } else { c })
            .collect();
        let absolute = match cleaned.split_once(':') {
            _ if cleaned.starts_with("//") => format!("https:{cleaned}"),
            Some((scheme, rest)) if is_web(scheme) => {
                format!("https://{}", rest.trim_start_matches('/'))
            }
            Some((scheme, _)) => {
                self.is_unsafe |= is_active(scheme);
                return;
            }
            None => return,
        };
        let url = Url::parse(&absolute).ok();
        let name = url.as_ref().and_then(|url| host::domain(url).ok());
        match (url.as_ref(), name) {
            (Some(url), Some(name)) if url.username().is_empty() => {
                self.hosts.push(name.to_owned());
            }
            _ => self.is_unsafe = true,
        }
    }
}

fn is_web(scheme: &str) -> bool {
    ["http", "https", "ftp", "ws", "wss"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web))
}

/// Schemes that run code or read local data.
fn is_active(scheme: &str) -> bool {
    ["javascript", "data", "vbscript", "file", "blob"]
        .iter()
        .any(|active| scheme.eq_ignore_ascii_case(active))
}

fn decode(value: &str) -> Option<String> {
    let pair = format!("v={}", value.replace('&', "%26"));
    let (_, decoded) = url::form_urlencoded::parse(pair.as_bytes()).next()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(url: &str) -> bool {
        let allowed = Allowlist::parse(["example.com", "*.example.com"]).unwrap();
        Redirects::of(&Url::parse(url).unwrap()).leave(&allowed)
    }

    #[test]
    fn redirect_to_another_host_is_found_in_every_form() {
        for url in [
            "https://example.com/r?next=https://evil.test/",
            "https://example.com/r?u=https%3A%2F%2Fevil.test",
            "https://example.com/r?u=%2568ttps%253A%252F%252Fevil.test",
            "https://example.com/r?u=//evil.test",
            "https://example.com/r?u=%5C%5Cevil.test",
            "https://example.com/r?u=/%5Cevil.test",
            "https://example.com/r?u=https:evil.test",
            "https://example.com/r?u=javascript:alert(1)",
            "https://example.com/r?https://evil.test",
            "https://example.com/#/go?u=https://evil.test",
            "https://example.com/r?u=https://127.0.0.1/",
            "https://example.com/r?u=https://example.com@evil.test/",
        ] {
            assert!(leaves(url), "{url}");
        }
    }

    #[test]
    fn paths_and_allowed_hosts_are_no_redirect() {
        for url in [
            "https://example.com/r?next=/account",
            "https://example.com/r?redirect_to=https://app.example.com/welcome",
            "https://example.com/r?time=12:30&token=a:b",
        ] {
            assert!(!leaves(url), "{url}");
        }
    }
}
