//! Parameters that send the visitor on to another host.

use url::Url;

use super::host;
use crate::Allowlist;

/// Two rounds of escaping are what redirectors in the field undo.
const ROUNDS: usize = 2;

/// Whether a parameter names a host outside the allowlist. A host that is
/// itself allowed may be led on to: sign-in services do that.
pub(super) fn leads_elsewhere(url: &Url, allowed: &Allowlist) -> bool {
    let fragment = url
        .fragment()
        .and_then(|fragment| fragment.split_once('?'))
        .map_or("", |(_, query)| query);
    let bare = url
        .fragment()
        .filter(|fragment| fragment.contains('='))
        .unwrap_or_default();
    [url.query().unwrap_or_default(), fragment, bare]
        .iter()
        .flat_map(|query| url::form_urlencoded::parse(query.as_bytes()))
        .any(|(key, value)| is_foreign(&value, allowed) || is_foreign(&key, allowed))
}

fn is_foreign(value: &str, allowed: &Allowlist) -> bool {
    let mut value = value.to_owned();
    for _ in 0..ROUNDS {
        if names_foreign_host(&value, allowed) {
            return true;
        }
        match decode(&value) {
            Some(decoded) if decoded != value => value = decoded,
            _ => return false,
        }
    }
    names_foreign_host(&value, allowed)
}

/// Browsers skip leading blanks and controls, read `\` as `/`, and take two
/// slashes for "same scheme, other host".
fn names_foreign_host(value: &str, allowed: &Allowlist) -> bool {
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
        Some((scheme, _)) => return is_active(scheme),
        None => return false,
    };
    match Url::parse(&absolute) {
        Ok(url) => host::domain(&url).map_or(true, |name| {
            !url.username().is_empty() || !allowed.names(name)
        }),
        Err(_) => true,
    }
}

fn is_web(scheme: &str) -> bool {
    ["http", "https", "ftp", "ws", "wss"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web))
}

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

    fn leads_on(url: &str) -> bool {
        let allowed = Allowlist::parse(["example.com", "*.example.com"]).unwrap();
        leads_elsewhere(&Url::parse(url).unwrap(), &allowed)
    }

    #[test]
    fn a_foreign_host_is_found_however_it_is_escaped() {
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
            assert!(leads_on(url), "{url}");
        }
    }

    #[test]
    fn a_path_or_an_allowed_host_is_no_way_out() {
        for url in [
            "https://example.com/r?next=/account",
            "https://example.com/r?redirect_to=https://app.example.com/welcome",
            "https://example.com/r?time=12:30&token=a:b",
        ] {
            assert!(!leads_on(url), "{url}");
        }
    }
}
