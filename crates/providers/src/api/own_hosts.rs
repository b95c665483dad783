//! Which URLs belong to a provider, so that a key or a fetch never goes elsewhere.

use url::{Host, Url};

/// Whether a URL is at one of the provider's own hosts: the host of its API, or a
/// sibling of it, as `cdn.example.com` is of `api.example.com`.
pub fn is_own_host(base: &Url, url: &Url) -> bool {
    if url.scheme() != base.scheme() || !url.username().is_empty() || url.password().is_some() {
        return false;
    }
    if url.origin() == base.origin() {
        return true;
    }
    let (Some(Host::Domain(api)), Some(Host::Domain(host))) = (base.host(), url.host()) else {
        return false;
    };
    let Some((_, domain)) = api
        .split_once('.')
        .filter(|(_, domain)| domain.contains('.'))
    else {
        return false;
    };
    url.port_or_known_default() == base.port_or_known_default()
        && host
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_host_and_its_siblings_are_own_hosts_and_others_are_not() {
        let base = Url::parse("https://api.provider.test/v1").unwrap();
        let is_own = |url: &str| is_own_host(&base, &Url::parse(url).unwrap());
        assert!(is_own("https://api.provider.test/x"));
        assert!(is_own("https://cdn.provider.test/x"));
        for bad in [
            "http://api.provider.test/x",
            "https://provider.test.evil.test/x",
            "https://evilprovider.test/x",
            "https://user@api.provider.test/x",
            "https://api.provider.test:8443/x",
            "https://127.0.0.1/x",
            "https://localhost/x",
        ] {
            assert!(!is_own(bad), "{bad}");
        }
        // A host directly below a public suffix has no siblings.
        let base = Url::parse("https://provider.test").unwrap();
        assert!(!is_own_host(
            &base,
            &Url::parse("https://evil.test").unwrap()
        ));
    }
}
