//! Targets without a scheme: `?url=evil.com/x`, `?next=@evil.com`, `/amp/s/evil.com`.
//!
//! A host by itself says little: `?site=shop.example.com` names the visitor's shop. So it counts
//! only where the name before it says that the visitor is sent there.

use super::{authority, is_public};

/// Parts of the names of parameters that take a target.
const PARTS: [&str; 9] = [
    "redir", "return", "callback", "continue", "forward", "goto", "target", "destin", "location",
];
/// Ends of such names, and whole names.
const ENDS: [&str; 6] = ["url", "uri", "href", "link", "next", "dest"];
const WHOLE: [&str; 4] = ["jump", "exit", "away", "back"];
/// Names that may as well stand for a user, an address or a search.
const UNSURE: [&str; 10] = ["u", "to", "r", "l", "q", "go", "out", "ru", "rd", "service"];
/// Segments of a path that take a target in the next segment.
const SEGMENTS: [&str; 21] = [
    "amp", "away", "click", "exit", "external", "forward", "go", "goto", "http", "https", "jump",
    "leave", "leaving", "link", "out", "outbound", "outgoing", "proxy", "redir", "redirect", "url",
];
/// Segments between such a one and the target.
const FILLERS: [&str; 3] = ["s/", "c/", "v/"];

/// Whether something takes a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Surely,
    Perhaps,
    Nothing,
}

/// Hands over each target without a scheme.
pub(super) fn targets(text: &str, mut add: impl FnMut(&str)) {
    for (at, sign) in text.match_indices(['=', ':', '/']) {
        let (before, after) = text.split_at(at);
        let after = after.get(1..).unwrap_or_default();
        let (takes, value) = match sign {
            "/" => (by_segment(before), without_fillers(after)),
            "=" => (by_name(name_before(before)), after),
            _ => match before.trim_end().strip_suffix(['"', '\'']) {
                Some(before) => (by_name(name_before(before)), after),
                None => continue,
            },
        };
        if let Some(target) = target(takes, value) {
            add(target);
        }
    }
}

/// The name at the end of a text that takes a target, with the sign behind it.
pub(super) fn taker(before: &str) -> Option<&str> {
    let own = before.strip_suffix(['=', '/'])?;
    let (name, takes) = if before.ends_with('=') {
        let name = name_before(own);
        (name, by_name(name))
    } else {
        (segment_before(own)?, by_segment(own))
    };
    let start = own.len() - name.len();
    before.get(start..).filter(|_| takes != Takes::Nothing)
}

fn target(takes: Takes, value: &str) -> Option<&str> {
    if takes == Takes::Nothing {
        return None;
    }
    let value = value.trim_start_matches(|c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'')
    });
    // Some services write the value directly behind their own host.
    let host = value.trim_start_matches(['@', '.']);
    let counts = takes == Takes::Surely || is_address(host);
    (counts && is_public(host)).then_some(host)
}

/// Whether a host has more of an address than its name: `evil.com/x`, `www.evil.com`.
fn is_address(host: &str) -> bool {
    let authority = authority(host);
    let rest = host.get(authority.len()..).unwrap_or_default();
    let is_port = |port: &str| port.starts_with(|c: char| c.is_ascii_digit());
    host.starts_with("www.")
        || rest.starts_with(['/', '?', '#'])
        || authority
            .rsplit_once(':')
            .is_some_and(|(_, port)| is_port(port))
}

fn without_fillers(mut value: &str) -> &str {
    while let Some(rest) = FILLERS.iter().find_map(|filler| value.strip_prefix(filler)) {
        value = rest;
    }
    value
}

/// The run of letters, digits and signs of names at the end of a text.
fn name_before(text: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.[]$~".contains(c);
    let start = text.trim_end_matches(is_name).len();
    text.get(start..).unwrap_or_default()
}

fn segment_before(text: &str) -> Option<&str> {
    let name = name_before(text);
    let before = text.get(..text.len() - name.len()).unwrap_or_default();
    (before.is_empty() || before.ends_with('/')).then_some(name)
}

fn by_name(name: &str) -> Takes {
    let name = letters_of(name);
    if name.contains("mail") {
        Takes::Nothing
    } else if PARTS.iter().any(|part| name.contains(part))
        || ENDS.iter().any(|end| name.ends_with(end))
        || WHOLE.contains(&name.as_str())
    {
        Takes::Surely
    } else if UNSURE.contains(&name.as_str()) {
        Takes::Perhaps
    } else {
        Takes::Nothing
    }
}

/// `redirect`, also as `redirect.php`.
fn by_segment(before: &str) -> Takes {
    let Some(name) = segment_before(before) else {
        return Takes::Nothing;
    };
    let name = name.split('.').next().unwrap_or_default();
    let name = letters_of(name);
    if SEGMENTS.contains(&name.as_str()) {
        Takes::Surely
    } else if UNSURE.contains(&name.as_str()) {
        Takes::Perhaps
    } else {
        Takes::Nothing
    }
}

fn letters_of(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphabetic);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}
