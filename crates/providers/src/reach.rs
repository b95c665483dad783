//! How far a provider reaches: which URLs are its own.

use url::{Host, Url};

/// Whether a URL is the provider's: the API's own host, or one below the domain
/// that the API's host is below, as `cdn.example.com` is for `api.example.com`.
pub fn is_within(base: &Url, url: &Url) -> bool {
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
    fn only_the_providers_own_hosts_are_asked() {
        let base = Url::parse("https://api.provider.test/v1").unwrap();
        let within = |url: &str| is_within(&base, &Url::parse(url).unwrap());
        assert!(within("https://api.provider.test/x"));
        assert!(within("https://cdn.provider.test/x"));
        for bad in [
            "http://api.provider.test/x",
            "https://provider.test.evil.test/x",
            "https://evilprovider.test/x",
            "https://user@api.provider.test/x",
            "https://api.provider.test:8443/x",
            "https://127.0.0.1/x",
            "https://localhost/x",
        ] {
            assert!(!within(bad), "{bad}");
        }
        // A host right below a public suffix does not open the suffix.
        let base = Url::parse("https://provider.test").unwrap();
        assert!(!is_within(&base, &Url::parse("https://evil.test").unwrap()));
    }
}
