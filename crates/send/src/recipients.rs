//! To whom a sender may send.

use pipeline::Recipient;

/// The addresses and domains that a sender may send to. Nothing is allowed that is not
/// listed: an agent that was talked into mailing a stranger cannot.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recipients {
    addresses: Vec<Recipient>,
    domains: Vec<String>,
}

impl Recipients {
    /// Reads entries such as `user@example.com` and `@example.com`; fails with the first
    /// that is neither.
    pub(crate) fn parse(entries: &[String]) -> Result<Self, String> {
        let mut recipients = Self::default();
        for entry in entries {
            let domain = entry.strip_prefix('@');
            // A domain is valid if an address in it is, and has the same spelling.
            let address = domain.map_or(entry.clone(), |domain| format!("any@{domain}"));
            let address: Recipient = address.parse().map_err(|_unfit| entry.clone())?;
            if domain.is_some() {
                recipients.domains.push(address.domain().to_owned());
            } else {
                recipients.addresses.push(address);
            }
        }
        Ok(recipients)
    }

    /// Whether mail may be sent to an address. A domain does not include its subdomains.
    pub(crate) fn allow(&self, to: &Recipient) -> bool {
        self.addresses.contains(to) || self.domains.iter().any(|domain| domain == to.domain())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_addresses_and_domains_are_allowed() {
        let entries = ["User@Example.com", "@BÜCHER.example"].map(str::to_owned);
        let recipients = Recipients::parse(&entries).unwrap();
        for (to, allowed) in [
            ("user@example.com", true),
            ("user+tag@example.com", false),
            ("other@example.com", false),
            ("any@xn--bcher-kva.example", true),
            ("any@sub.xn--bcher-kva.example", false),
            ("any@notxn--bcher-kva.example", false),
        ] {
            assert_eq!(recipients.allow(&to.parse().unwrap()), allowed, "{to}");
        }
        assert!(!Recipients::default().allow(&"a@x.test".parse().unwrap()));
    }

    #[test]
    fn entries_that_are_no_address_are_named() {
        for bad in ["*", "example.com", "@", "a@b@c.test", "a b@x.test"] {
            let parsed = Recipients::parse(&[bad.to_owned()]);
            assert_eq!(parsed.err().as_deref(), Some(bad));
        }
    }
}
