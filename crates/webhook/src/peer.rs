//! The network address that a post came from.

use std::net::{IpAddr, Ipv6Addr};

use actix_web::HttpRequest;
use ipnet::IpNet;

use crate::settings::Settings;

/// The address that a post came from. Behind a trusted proxy it is the last address
/// in `X-Forwarded-For` that is not a trusted proxy itself. Addresses before it were
/// written by the client and prove nothing.
pub(crate) fn peer_address(request: &HttpRequest, settings: &Settings) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip();
    let forwarded = request
        .headers()
        .get_all("x-forwarded-for")
        .filter_map(|value| value.to_str().ok());
    behind_proxies(peer, forwarded, &settings.trusted_proxies)
}

fn behind_proxies<'a>(
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

/// The address, or the /64 network of an IPv6 address: one client often has the whole
/// network.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let high_half = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(high_half))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(peer: &str, forwarded: &[&str]) -> Option<String> {
        let trusted = ["10.0.0.0/8".parse().expect("a range")];
        let peer = peer.parse().expect("an address");
        let found = behind_proxies(peer, forwarded.iter().copied(), &trusted);
        found.map(|address| address.to_string())
    }

    #[test]
    fn x_forwarded_for_from_an_untrusted_peer_is_ignored() {
        let found = from("198.51.100.9", &["192.0.2.1"]);
        assert_eq!(found.as_deref(), Some("198.51.100.9"));
    }

    #[test]
    fn behind_trusted_proxies_the_last_untrusted_hop_is_the_peer() {
        let found = |lines: &[&str]| from("10.0.0.1", lines);
        assert_eq!(found(&["192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(
            found(&["203.0.113.5, 192.0.2.1, 10.0.0.2"]).as_deref(),
            Some("192.0.2.1"),
            "addresses that the client wrote do not count"
        );
        assert_eq!(
            found(&["203.0.113.5", "192.0.2.1"]).as_deref(),
            Some("192.0.2.1")
        );
        assert_eq!(found(&[]).as_deref(), Some("10.0.0.1"));
        assert_eq!(
            found(&["192.0.2.1, unknown"]),
            None,
            "an unreadable hop leaves the peer unknown"
        );
    }
}
