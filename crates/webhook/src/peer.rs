//! Who sent a post, as far as the network tells.

use std::net::IpAddr;

use actix_web::HttpRequest;
use ipnet::IpNet;

use crate::Settings;

/// The address that a post came from. Behind a proxy that is trusted it is the
/// last one in `X-Forwarded-For` that is not itself a trusted proxy: what stands
/// before it was written by whoever sent the post.
pub(crate) fn sender(request: &HttpRequest, settings: &Settings) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip();
    let forwarded = request
        .headers()
        .get_all("x-forwarded-for")
        .filter_map(|value| value.to_str().ok());
    behind(peer, forwarded, &settings.trusted_proxies)
}

fn behind<'a>(
    peer: IpAddr,
    forwarded: impl Iterator<Item = &'a str>,
    trusted: &[IpNet],
) -> Option<IpAddr> {
    let is_trusted = |address: IpAddr| {
        let address = address.to_canonical();
        trusted.iter().any(|range| range.contains(&address))
    };
    if !is_trusted(peer) {
        return Some(peer);
    }
    let hops: Vec<&str> = forwarded.flat_map(|line| line.split(',')).collect();
    for hop in hops.into_iter().rev() {
        let address = hop.trim().parse().ok()?;
        if !is_trusted(address) {
            return Some(address);
        }
    }
    Some(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(peer: &str, forwarded: &[&str]) -> Option<String> {
        let trusted = ["10.0.0.0/8".parse().expect("a range")];
        let peer = peer.parse().expect("an address");
        let found = behind(peer, forwarded.iter().copied(), &trusted);
        found.map(|address| address.to_string())
    }

    #[test]
    fn a_stranger_cannot_say_where_it_is() {
        let found = from("198.51.100.9", &["192.0.2.1"]);
        assert_eq!(found.as_deref(), Some("198.51.100.9"));
    }

    #[test]
    fn behind_trusted_proxies_the_last_other_one_sent_it() {
        let found = |lines: &[&str]| from("10.0.0.1", lines);
        assert_eq!(found(&["192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(
            found(&["203.0.113.5, 192.0.2.1, 10.0.0.2"]).as_deref(),
            Some("192.0.2.1"),
            "what the sender wrote itself does not count"
        );
        assert_eq!(
            found(&["203.0.113.5", "192.0.2.1"]).as_deref(),
            Some("192.0.2.1")
        );
        assert_eq!(found(&[]).as_deref(), Some("10.0.0.1"));
        assert_eq!(found(&["192.0.2.1, unknown"]), None, "nobody can be told");
    }
}
