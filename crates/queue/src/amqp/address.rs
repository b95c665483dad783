//! The address of the broker.

use std::fmt;

use lapin::uri::AMQPUri;

use crate::open_error::OpenError;

/// Seconds between two heartbeats. With the broker's default of 60 a frozen broker or
/// a dropped route is noticed after up to two minutes; with 10, after twenty seconds.
const HEARTBEAT_SECONDS: u16 = 10;

/// How long the TCP connection may take, in milliseconds.
const CONNECT_MILLIS: u64 = 5_000;

/// A checked broker URL. It has no `Debug`, because it holds a password.
#[derive(Clone)]
pub(crate) struct Address(AMQPUri);

impl Address {
    /// Reads `amqp://user:password@host:5672/vhost`, or `amqps://` for TLS.
    ///
    /// The parameters `heartbeat` and `connection_timeout` of the URL are kept. An
    /// empty virtual host means the default one, `/`. By the AMQP URI specification
    /// it would be a virtual host with an empty name, which nobody uses.
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        // lapin's parser would silently use localhost instead.
        if url.contains("://[") || url.contains("@[") {
            return Err(OpenError::MalformedUrl(
                "an IPv6 address must be given as a host name",
            ));
        }
        // The parser's error would repeat the URL with its password.
        let Ok(mut uri) = url.parse::<AMQPUri>() else {
            return Err(OpenError::MalformedUrl("it is not an AMQP URL"));
        };
        if uri.vhost.is_empty() {
            uri.vhost.push('/');
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
        uri.query.connection_timeout.get_or_insert(CONNECT_MILLIS);
        Ok(Self(uri))
    }

    pub(super) fn uri(&self) -> AMQPUri {
        self.0.clone()
    }
}

/// Host and port only, which may be logged.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.authority.host, self.0.authority.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(url: &str) -> AMQPUri {
        Address::parse(url).unwrap().uri()
    }

    #[test]
    fn heartbeat_is_10_s_unless_the_url_sets_it() {
        assert_eq!(uri("amqp://localhost").query.heartbeat, Some(10));
        let own = uri("amqp://localhost/%2f?heartbeat=30&connection_timeout=1000");
        assert_eq!(own.query.heartbeat, Some(30));
        assert_eq!(own.query.connection_timeout, Some(1000));
    }

    #[test]
    fn url_without_a_virtual_host_uses_the_default_one() {
        for url in ["amqp://h", "amqp://h/", "amqp://h:5672/%2f"] {
            assert_eq!(uri(url).vhost, "/", "{url}");
        }
        assert_eq!(uri("amqp://h/mail").vhost, "mail");
    }

    #[test]
    fn ipv6_literal_is_refused() {
        for url in ["amqp://[::1]:5672", "amqp://u:p@[fe80::1]/%2f"] {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn displayed_address_has_no_password() {
        let address = Address::parse("amqp://u:hunter2@broker.test:5673/mail").unwrap();
        assert_eq!(address.to_string(), "broker.test:5673");
    }
}
