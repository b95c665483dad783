//! The domain of fresh addresses: which one it is, and why mail to it would not arrive.

use providers::{Source, Sources};

use super::settings::{Config, Profile};
use crate::dev::DevEnv;

/// The domain of fresh addresses while nothing is configured. Only the development
/// source receives its mail.
const DEVELOPMENT: &str = "inbox.test";

/// Names that public DNS never has (RFC 2606, RFC 6761): no mail from outside reaches
/// them.
const RESERVED: [&str; 7] = [
    "test",
    "example",
    "invalid",
    "localhost",
    "example.com",
    "example.net",
    "example.org",
];

/// Sets the domain of fresh addresses if the configuration does not, and binds each
/// source that names no domains to it. Otherwise any source could write into the inboxes
/// of any tenant.
pub(super) fn complete(config: &mut Config) {
    let configured = config.inbox.mint_domain.to_ascii_lowercase();
    let domain = match configured.as_str() {
        "" => only_domain(config).unwrap_or_else(|| DEVELOPMENT.to_owned()),
        _ => configured,
    };
    let unbound = config.source.values_mut();
    for source in unbound.filter(|source| source.domains.is_empty()) {
        source.domains.push(domain.clone());
    }
    config.inbox.mint_domain = domain;
}

/// The domain of the only source, if it names one domain.
fn only_domain(config: &Config) -> Option<String> {
    let mut sources = config.source.values();
    let (only, None) = (sources.next()?, sources.next()) else {
        return None;
    };
    match only.domains.as_slice() {
        [domain] if domain != "*" => Some(domain.to_ascii_lowercase()),
        _ => None,
    }
}

/// What an operator should know about the domain of fresh addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MintDomain {
    /// These sources receive its mail.
    Covered(Vec<String>),
    /// Only the development source receives its mail, although there are others.
    Development(String),
    /// Mail to it would not arrive: why, and what to do.
    Dead(String),
}

impl MintDomain {
    /// Checks the domain of fresh addresses against the sources.
    pub(crate) fn of(config: &Config, sources: &Sources) -> Self {
        let domain = config.inbox.mint_domain.as_str();
        let mut covering: Vec<String> = sources
            .iter()
            .filter(|source| source.covers(domain))
            .map(|source| source.name().to_string())
            .collect();
        let has_any = sources.iter().next().is_some();
        // Without any source, the embedded profile has the one for development.
        if !has_any && config.profile() == Profile::Embedded {
            covering.push(DevEnv::NAME.to_owned());
        }
        let has_development = covering.iter().any(|name| name == DevEnv::NAME);
        if is_reserved(domain) && !has_development {
            return Self::Dead(format!(
                "fresh addresses would end in {domain}, a reserved name that never receives mail; \
                 set inbox.mint_domain to the domain whose mail reaches {}",
                named(sources)
            ));
        }
        // A process of one role may be configured without the sources of the others.
        if covering.is_empty() && has_any {
            return Self::Dead(format!(
                "no source receives mail for {domain}, the domain of fresh addresses; add it to \
                 the `domains` of a source, or set inbox.mint_domain to a domain of {}",
                named(sources)
            ));
        }
        let is_real = |source: &Source| source.name().as_str() != DevEnv::NAME;
        if is_reserved(domain) && sources.iter().any(is_real) {
            return Self::Development(format!(
                "fresh addresses end in {domain}, which only the development source receives; set \
                 inbox.mint_domain to the domain whose mail reaches your other sources"
            ));
        }
        Self::Covered(covering)
    }

    /// Whether mail to a fresh address would not arrive.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self, Self::Dead(_))
    }
}

/// The sources whose domains an operator may choose from.
fn named(sources: &Sources) -> String {
    let names: Vec<String> = sources
        .iter()
        .map(|source| format!("source `{}`", source.name()))
        .filter(|name| name != "source `dev`")
        .collect();
    if names.is_empty() {
        "a source (connect one with: maillatch source add PROVIDER)".to_owned()
    } else {
        names.join(" or ")
    }
}

fn is_reserved(domain: &str) -> bool {
    RESERVED.iter().any(|reserved| {
        domain == *reserved
            || domain
                .strip_suffix(reserved)
                .is_some_and(|rest| rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::layers::merge_text;
    use super::*;

    const SHOP: &str = "source.shop = { provider = \"standard-webhooks\", secrets = \
        [\"whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs\"]";

    fn mint(settings: &str) -> (String, MintDomain) {
        let config = merge_text(settings).unwrap();
        let sources = Sources::build(config.source.clone()).unwrap();
        let state = MintDomain::of(&config, &sources);
        (config.inbox.mint_domain, state)
    }

    #[test]
    fn source_without_domains_gets_the_domain_of_fresh_addresses() {
        let text = "inbox.mint_domain = \"Fresh.dev\"\n\
                    source.a.provider = \"relay\"\n\
                    source.b = { provider = \"relay\", domains = [\"*\"] }\n";
        let config = merge_text(text).unwrap();
        assert_eq!(config.source["a"].domains, ["fresh.dev"]);
        assert_eq!(config.source["b"].domains, ["*"]);
    }

    #[test]
    fn without_sources_the_development_domain_is_covered() {
        let (domain, state) = mint("");
        assert_eq!(domain, "inbox.test");
        assert_eq!(state, MintDomain::Covered(vec!["dev".to_owned()]));
    }

    #[test]
    fn domain_of_the_only_source_is_the_default() {
        let (domain, state) = mint(&format!("{SHOP}, domains = [\"Mail.shop.dev\"] }}"));
        assert_eq!(domain, "mail.shop.dev");
        assert_eq!(state, MintDomain::Covered(vec!["shop".to_owned()]));
    }

    #[test]
    fn reserved_domain_with_a_real_source_is_dead() {
        for settings in [
            format!("{SHOP} }}"),
            format!("{SHOP}, domains = [\"*\"] }}"),
            format!("{SHOP}, domains = [\"mail.example.com\"] }}"),
            format!("inbox.mint_domain = \"a.invalid\"\n{SHOP} }}"),
        ] {
            let (domain, state) = mint(&settings);
            let MintDomain::Dead(why) = state else {
                panic!("{settings}: {state:?}")
            };
            assert!(why.contains(&domain) && why.contains("`shop`"), "{why}");
        }
    }

    #[test]
    fn domain_that_no_source_receives_is_dead() {
        for domains in ["domains = [\"a.dev\", \"b.dev\"]", "domains = [\"a.dev\"]"] {
            let set = "inbox.mint_domain = \"c.dev\"";
            let (_, state) = mint(&format!("{set}\n{SHOP}, {domains} }}"));
            assert!(state.is_dead(), "{state:?}");
        }
        let fixed = "source.box = { provider = \"folder\", domains = [\"a.dev\"], \
            poll = { path = \"/nowhere\", deliver_to = [\"me@a.dev\"] } }";
        assert!(mint(fixed).1.is_dead());
    }

    #[test]
    fn names_that_only_look_reserved_are_not() {
        for name in ["contest", "mytest.dev", "example.com.dev", "notexample.com"] {
            assert!(!is_reserved(name), "{name}");
        }
        for name in ["test", "inbox.test", "a.example.com", "localhost"] {
            assert!(is_reserved(name), "{name}");
        }
    }
}
