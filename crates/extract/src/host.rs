//! Host names: public ones, and those that no link may lead to.

use unicode_security::MixedScript;
use unicode_security::confusable_detection::skeleton;
use url::{Host, Url};

use crate::rejection::Rejection;

/// Names that resolve inside a private network, or to an address that is part of
/// the name itself.
const INTERNAL: &[&str] = &[
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "arpa",
    "onion",
    "invalid",
    "alt",
    "nip.io",
    "sslip.io",
    "xip.io",
    "xip.name",
    "ip6.name",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "lacolhost.com",
    "traefik.me",
    "readme.localtest.me",
    "yoogle.com",
    "fbi.com",
    "fuf.me",
    "r3dir.me",
    "1u.ms",
    "rbndr.us",
    "nip.st",
    "backname.io",
    "local.gd",
    "127-0-0-1.org.uk",
    "bugbounty.click",
    "interact.sh",
    "oast.fun",
    "oast.pro",
];

/// The domain of a URL, if a public link may have it.
pub(crate) fn domain(url: &Url) -> Result<&str, Rejection> {
    let host = match url.host() {
        None => return Err(Rejection::NoHost),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => return Err(Rejection::IpLiteral),
        Some(Host::Domain(host)) => host,
    };
    if host.ends_with('.') || host.len() > 253 || !host.split('.').all(is_label) {
        return Err(Rejection::BadHost);
    }
    let Some((_, top)) = host.rsplit_once('.') else {
        return Err(Rejection::Internal);
    };
    if top.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Rejection::BadHost);
    }
    if INTERNAL.iter().any(|name| is_under(host, name)) {
        return Err(Rejection::Internal);
    }
    Ok(host)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Whether `host` is `name` or a name below it.
pub(crate) fn is_under(host: &str, name: &str) -> bool {
    host.strip_suffix(name)
        .is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
}

/// The registrable domain of a host, by the public suffix list and its private
/// section. A public suffix has none.
pub fn registrable(host: &str) -> Option<&str> {
    psl::domain_str(host)
}

pub(crate) fn is_international(host: &str) -> bool {
    host.split('.').any(|label| label.starts_with("xn--"))
}

/// Whether a label mixes scripts, or looks like ASCII and is not.
pub(crate) fn is_confusable(host: &str) -> bool {
    let (unicode, decoded) = idna::domain_to_unicode(host);
    decoded.is_err()
        || unicode.split('.').any(|label| {
            let looks: String = skeleton(label).collect();
            !label.is_ascii() && (!label.is_single_script() || looks.is_ascii())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrable_domain_follows_the_public_suffix_list() {
        assert_eq!(registrable("a.b.example.co.uk"), Some("example.co.uk"));
        assert_eq!(registrable("me.github.io"), Some("me.github.io"));
        assert_eq!(registrable("github.io"), None);
        assert_eq!(registrable("co.uk"), None);
    }

    #[test]
    fn look_alike_letters_of_other_scripts_are_confusable() {
        assert!(is_confusable("xn--pple-43d.com"));
        assert!(!is_confusable("xn--mnchen-3ya.de"));
        assert!(!is_confusable("example.com"));
    }
}
