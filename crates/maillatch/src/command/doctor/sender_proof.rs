//! Whether mail of unproven senders gives out values, and what can prove a sender.

use providers::Sources;

use super::check::Check;
use crate::config::Config;
use crate::wire::dkim;

const NAME: &str = "sender proof";

pub(super) fn sender_proof(config: &Config) -> Check {
    let checker = match dkim(config) {
        Err(error) => return Check::of(NAME, Err(error)),
        Ok(checker) => checker,
    };
    let by_dkim = match (&checker, config.sender.dkim) {
        (Some(_), _) => Ok("DKIM"),
        (None, true) => Err("no DNS server is known, so DKIM is not checked; set sender.dns"),
        (None, false) => Err("sender.dkim is off"),
    };
    let sources = Sources::build(config.source.clone()).unwrap_or_default();
    let by_provider: Vec<&str> = sources
        .iter()
        .filter(|source| source.proves_senders())
        .map(|source| source.name().as_str())
        .collect();
    let is_required = config.sender.require_verified;
    report(is_required, by_dkim, &by_provider.join(", "))
}

fn report(is_required: bool, by_dkim: Result<&str, &str>, by_provider: &str) -> Check {
    let rule = if is_required {
        "required of every mail"
    } else {
        "not required: unproven mail gives out values too, unless its inbox or attempt has \
         `require: \"verified\"`; for all mail, set sender.require_verified"
    };
    match (by_dkim, by_provider) {
        (Ok(way), "") => Check::ok(NAME, format!("{rule}; proven by {way}")),
        (Ok(way), sources) => Check::ok(NAME, format!("{rule}; proven by {way} or {sources}")),
        (Err(why), "") => Check::warning(NAME, format!("{rule}; nothing can prove one: {why}")),
        (Err(why), sources) => {
            Check::warning(NAME, format!("{rule}; proven by {sources} alone: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Health;
    use super::*;

    #[test]
    fn report_says_what_is_required_and_what_can_prove_it() {
        let off = report(false, Ok("DKIM"), "");
        assert_eq!(off.health, Health::Ok);
        for said in [
            "not required",
            "require: \"verified\"",
            "sender.require_verified",
        ] {
            assert!(off.detail.contains(said), "{}", off.detail);
        }
        let on = report(true, Ok("DKIM"), "ses");
        assert_eq!(on.detail, "required of every mail; proven by DKIM or ses");
        for (by_provider, said) in [("", "nothing can prove one"), ("ses", "ses alone")] {
            let check = report(true, Err("sender.dkim is off"), by_provider);
            assert_eq!(check.health, Health::Warning);
            assert!(check.detail.contains(said), "{}", check.detail);
            assert!(check.detail.ends_with("sender.dkim is off"));
        }
    }
}
