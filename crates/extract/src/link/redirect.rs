//! Hosts that a URL may redirect its visitor to.
//!
//! A redirector may take its target from a parameter, the path or the fragment, in any
//! form and escaped several times. So everything behind the host is searched.

mod bare;
mod encoded;

use url::{Position, Url};

use super::decode::{json_decoded, percent_decoded};
use crate::allowlist::Allowlist;
use crate::host;

/// How often escapes are decoded.
const ROUNDS: usize = 5;
/// How often Base64 is decoded inside Base64.
const DEPTH: usize = 3;
/// No honest URL names more hosts.
const MAX_HOSTS: usize = 16;
/// A host behind a user name begins this early, in bytes.
const LONGEST_AUTHORITY: usize = 512;
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
    /// How many layers of Base64 the text that is searched was in.
    depth: usize,
}

impl Redirects {
    pub(super) fn of(url: &Url) -> Self {
        let mut redirects = Self::default();
        redirects.read(url.path());
        let query = url.query().unwrap_or_default();
        // Only here does `&` separate: in an escaped value it is a part of the value.
        for pair in query.split('&') {
            redirects.read(pair);
        }
        let script = url.path().trim_end_matches('/').rsplit('/').next();
        if !query.contains(['=', '&']) {
            // `/redirect?evil.com`
            redirects.read(&[script.unwrap_or_default(), "/", query].concat());
        }
        redirects.read(&url[Position::AfterQuery..]);
        redirects
    }

    /// Whether the URL names a host outside the allowlist. Sign-in services redirect to
    /// other hosts of theirs, so a host that is listed is fine.
    pub(super) fn leave(&self, allowed: &Allowlist) -> bool {
        self.is_unsafe || self.hosts.iter().any(|host| !allowed.names(host))
    }

    /// Searches a text as it is and below every escape.
    fn read(&mut self, text: &str) {
        let mut text = text.to_owned();
        for _ in 0..=ROUNDS {
            if self.is_unsafe {
                return;
            }
            let cleaned = cleaned(&text);
            self.search(&cleaned);
            bare::targets(&cleaned, |target| self.add(target));
            match percent_decoded(&text).map(|decoded| json_decoded(&decoded)) {
                Some(decoded) if decoded != text => text = decoded,
                _ => return self.read_encoded(&text),
            }
        }
        // Nobody escapes that often, except to hide something.
        self.is_unsafe = true;
    }

    /// Searches the texts in Base64 that a text has.
    fn read_encoded(&mut self, text: &str) {
        if self.depth < DEPTH {
            self.depth += 1;
            encoded::texts(text, |inner| self.read(inner));
            self.depth -= 1;
        }
    }

    fn search(&mut self, text: &str) {
        for (at, _) in text.match_indices(':') {
            let (before, after) = text.split_at(at);
            let after = after.get(1..).unwrap_or_default();
            let letters = before.bytes().rev().take_while(u8::is_ascii_alphabetic);
            let start = at - letters.count();
            let scheme = before.get(start..).unwrap_or_default();
            let is = |names: &[&str]| names.iter().any(|name| scheme.eq_ignore_ascii_case(name));
            let before = before.get(..start).unwrap_or_default();
            let begins = is_value_start(before);
            // Some services write the scheme themselves.
            let is_bare = scheme.is_empty() && begins && after.starts_with("//");
            if is(&WEB) && (begins || after.starts_with('/')) || is_bare {
                self.add_quoted(before, after.trim_start_matches('/'));
            }
            self.is_unsafe |= begins && is(&ACTIVE);
        }
        for (at, _) in text.match_indices("//") {
            let (before, after) = text.split_at(at);
            // A browser reads two slashes as "same scheme, other host".
            if before.ends_with([':', '/']) {
                continue;
            }
            let rest = after.trim_start_matches('/');
            if is_value_start(before) || is_public(rest) {
                self.add_quoted(before, rest);
            }
        }
    }

    /// Adds the host at the start of the text. A quotation mark in front of the URL ends it, too.
    fn add_quoted(&mut self, before: &str, text: &str) {
        let quote = before.chars().next_back();
        let quote = quote.filter(|c| matches!(c, '"' | '\'' | '<'));
        let quote = quote.map(|c| if c == '<' { '>' } else { c });
        let quoted = quote.and_then(|quote| text.split(quote).next());
        self.add(quoted.unwrap_or(text));
    }

    /// Adds the host at the start of the text.
    fn add(&mut self, text: &str) {
        if self.is_unsafe {
            return;
        }
        let all = whole_authority(text);
        let name = authority(text);
        let rest = all.get(name.len()..).unwrap_or_default();
        let url = Url::parse(&format!("https://{name}/")).ok();
        let host = url.as_ref().and_then(|url| host::domain(url).ok());
        // Such a name is on no public network, and a token may spell one by chance.
        let is_by_chance = || self.depth > 0 && all.bytes().all(|b| b.is_ascii_alphanumeric());
        match host {
            None if is_by_chance() => {}
            // To a browser, `a.com,@b.com` is a host behind a user name, and `a.com,.b.com` a host.
            Some(host) if !all.contains('@') && !rest.contains('.') => {
                if !self.hosts.iter().any(|known| known == host) {
                    self.hosts.push(host.to_owned());
                }
                self.is_unsafe = self.hosts.len() > MAX_HOSTS;
            }
            _ => self.is_unsafe = true,
        }
    }
}

/// The host at the start of a text, with its user name and port.
fn authority(text: &str) -> &str {
    let end = text
        .find(|c: char| c.is_whitespace() || "/?#&%=\"'<>,{}()".contains(c))
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// All that a browser takes for the authority, up to an escape, which may stand for its end.
fn whole_authority(text: &str) -> &str {
    let window = text.floor_char_boundary(LONGEST_AUTHORITY);
    let window = text.get(..window).unwrap_or_default();
    let window = window.split(['/', '?', '#']).next().unwrap_or_default();
    let is_escape = |(at, _): &(usize, &str)| {
        let digits = window.get(at + 1..at + 3).unwrap_or_default();
        digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let escape = window.match_indices('%').find(is_escape);
    escape.map_or(window, |(at, _)| window.get(..at).unwrap_or_default())
}

/// Whether a parameter, or another value, begins after this text.
fn is_value_start(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || c.is_control());
    before.is_empty()
        || before.ends_with([
            '=', '&', '?', '#', ';', '"', '\'', ',', '(', '[', '{', ':', '|', '*', '<',
        ])
        || before == "/"
}

/// Whether the text begins with a host below a known public suffix, or with an IP address.
fn is_public(text: &str) -> bool {
    let authority = authority(text);
    let (_, name) = authority.rsplit_once('@').unwrap_or(("", authority));
    if name.starts_with('[') {
        return true;
    }
    let name = name.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.contains('.')
        && (name.parse::<std::net::Ipv4Addr>().is_ok()
            || psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known())
                && host::registrable(&name).is_some())
}

/// Browsers drop tabs and line breaks, and read `\` as `/`. Some servers fold wide signs.
fn cleaned(text: &str) -> String {
    let kept = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    kept.map(|c| match c {
        '\\' | '／' | '＼' => '/',
        '：' => ':',
        '＠' => '@',
        '。' | '．' | '｡' => '.',
        other => other,
    })
    .collect()
}

#[cfg(test)]
mod tests;
