//! Hosts that a URL may redirect its visitor to.
//!
//! A redirector may take its target from a parameter, the path or the fragment, in any
//! form and escaped several times. So everything behind the host is searched.

use url::Url;

use super::decode::percent_decoded;
use crate::allowlist::Allowlist;
use crate::host;

/// How often escapes are decoded.
const ROUNDS: usize = 5;
const WEB: [&str; 5] = ["https", "http", "ftp", "wss", "ws"];
/// Schemes that run code or read local data.
const ACTIVE: [&str; 5] = ["javascript", "data", "vbscript", "file", "blob"];

/// The hosts that a URL names behind its own, collected once and then compared with any
/// number of allowlists.
#[derive(Debug, Default)]
pub(super) struct Redirects {
    hosts: Vec<String>,
    /// The URL names a target that no allowlist can admit.
    is_unsafe: bool,
}

impl Redirects {
    pub(super) fn of(url: &Url) -> Self {
        let mut redirects = Self::default();
        let mut text = url[url::Position::BeforePath..].to_owned();
        for _ in 0..=ROUNDS {
            redirects.search(&cleaned(&text));
            match percent_decoded(&text) {
                Some(decoded) if decoded != text => text = decoded,
                _ => return redirects,
            }
        }
        // Nobody escapes that often, except to hide something.
        redirects.is_unsafe = true;
        redirects
    }

    /// Whether the URL names a host outside the allowlist. Sign-in services redirect to
    /// other hosts of theirs, so a host that is listed is fine.
    pub(super) fn leave(&self, allowed: &Allowlist) -> bool {
        self.is_unsafe || self.hosts.iter().any(|host| !allowed.names(host))
    }

    fn search(&mut self, text: &str) {
        for (at, _) in text.match_indices(':') {
            let (before, after) = text.split_at(at);
            let after = after.get(1..).unwrap_or_default();
            let letters = before.bytes().rev().take_while(u8::is_ascii_alphabetic);
            let start = at - letters.count();
            let scheme = before.get(start..).unwrap_or_default();
            let begins = before.get(..start).is_some_and(is_value_start);
            let is = |names: &[&str]| names.iter().any(|name| scheme.eq_ignore_ascii_case(name));
            if is(&WEB) && (begins || after.starts_with('/')) {
                self.add(after.trim_start_matches('/'));
            }
            self.is_unsafe |= begins && is(&ACTIVE);
        }
        for (at, _) in text.match_indices("//") {
            let (before, after) = text.split_at(at);
            let rest = after.trim_start_matches('/');
            // A browser reads two slashes as "same scheme, other host".
            if !before.ends_with([':', '/']) && (is_value_start(before) || is_public(rest)) {
                self.add(rest);
            }
        }
    }

    /// Adds the host at the start of the text.
    fn add(&mut self, text: &str) {
        let authority = authority(text);
        let url = Url::parse(&format!("https://{authority}/")).ok();
        let name = url.as_ref().and_then(|url| host::domain(url).ok());
        match name {
            Some(name) if !authority.contains('@') => self.hosts.push(name.to_owned()),
            _ => self.is_unsafe = true,
        }
    }
}

fn authority(text: &str) -> &str {
    let end = text
        .find(|c: char| c.is_whitespace() || "/?#&%\"'<>,{}()".contains(c))
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Whether a parameter, or another value, begins after this text.
fn is_value_start(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || c.is_control());
    before.is_empty()
        || before.ends_with([
            '=', '&', '?', '#', ';', '"', '\'', ',', '(', '[', '{', ':', '|', '*',
        ])
        || before == "/"
}

/// Whether the text begins with a host below a known public suffix.
fn is_public(text: &str) -> bool {
    let name = authority(text).to_ascii_lowercase();
    name.contains('.')
        && psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known())
        && host::registrable(&name).is_some()
}

/// Browsers drop tabs and line breaks, and read `\` as `/`.
fn cleaned(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .map(|c| if c == '\\' { '/' } else { c })
        .collect()
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
            "https://example.com/r?u=https%25253A%25252F%25252Fevil.test",
            "https://example.com/r?u=https%2525253A%2525252F%2525252Fevil.test",
            "https://example.com/r?u=//evil.test",
            "https://example.com/r?u=%5C%5Cevil.test",
            "https://example.com/r?u=/%5Cevil.test",
            "https://example.com/r?u=https:evil.test",
            "https://example.com/r?u=javascript:alert(1)",
            "https://example.com/r?https://evil.test",
            "https://example.com/#/go?u=https://evil.test",
            "https://example.com/r?u=https://127.0.0.1/",
            "https://example.com/r?u=https://example.com@evil.test/",
            "https://example.com/r;next=https://evil.test",
            "https://example.com/r;next=//evil.test",
            "https://example.com/r?a=1;next=//evil.test",
            "https://example.com/r?state={%22u%22:%22https://evil.test%22}",
            "https://example.com/r?state=%7B%22u%22%3A%22https%3A%5C%2F%5C%2Fevil.test%22%7D",
            "https://example.com/r?u=url:https://evil.test",
            "https://example.com/r/https://evil.test/x",
            "https://example.com/r/https:/evil.test/x",
            "https://example.com/r/https%3A%2F%2Fevil.test",
            "https://example.com//evil.com/x",
            "https://example.com/r//evil.com/x",
            "https://example.com/#https://evil.test",
            "https://example.com/#//evil.com",
            "https://example.com/r?u=%20https://evil.test",
            "https://example.com/r?u=ht%0Atps://evil.test",
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
            "https://example.com/files//a/b",
            "https://example.com/r?app=myapp://callback",
            "https://example.com/verify/a.b.c?data=x",
        ] {
            assert!(!leaves(url), "{url}");
        }
    }
}
