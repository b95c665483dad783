//! Whether a `Host` or an `Origin` names this server.

use url::{Host, Url};

/// Whether a `Host` header names a server by an address or a name that no public DNS can
/// give, or by one of `hosts`. A web page that makes its own name point here must not
/// reach the server.
pub fn is_own_name(host: &str, hosts: &[String]) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_listed = hosts.iter().any(|own| own.eq_ignore_ascii_case(name));
    is_listed || Url::parse(&format!("http://{host}/")).is_ok_and(|url| is_local(&url))
}

/// Whether an `Origin` header is a page of this server, or of this machine.
pub(crate) fn is_own_origin(origin: &str, hosts: &[String]) -> bool {
    let Ok(url) = Url::parse(origin) else {
        return false;
    };
    let name = url.host_str().unwrap_or_default();
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_loopback || hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => !name.contains('.') || name.ends_with(".localhost"),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_local_names_and_listed_names_are_own_names() {
        let hosts = ["mail.example.com".to_owned()];
        for own in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "localhost",
            "feed:8081",
            "mail.example.com:443",
        ] {
            assert!(is_own_name(own, &hosts), "{own}");
        }
        for other in ["evil.example", "evil.example:8080", "", "a b"] {
            assert!(!is_own_name(other, &hosts), "{other}");
        }
    }

    #[test]
    fn only_pages_of_this_machine_and_listed_names_are_own_origins() {
        let hosts = ["mail.example.com".to_owned()];
        for own in [
            "http://localhost:6274",
            "http://127.0.0.1",
            "https://mail.example.com",
        ] {
            assert!(is_own_origin(own, &hosts), "{own}");
        }
        for other in [
            "null",
            "https://evil.example",
            "http://10.0.0.7",
            "file:///x",
        ] {
            assert!(!is_own_origin(other, &hosts), "{other}");
        }
    }
}
