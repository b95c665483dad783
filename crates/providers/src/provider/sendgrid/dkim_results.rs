//! The form field `dkim`: `{@example.com : pass, @example.org : fail}`.
//!
//! The names in it come from the signatures of the mail, so from an unknown sender. Only
//! the exact form is read. What has another form proves nothing.

use crate::payload::mail::SenderVerdict;

/// The most results that are read. Mails usually have one or two.
const MOST_RESULTS: usize = 10;

/// The longest name of DNS.
const LONGEST_DOMAIN: usize = 253;

/// The domains whose signatures are valid; none if the field has another form.
pub(super) fn signers(field: &[u8]) -> SenderVerdict {
    let text = str::from_utf8(field).ok();
    let results = text.and_then(results).unwrap_or_default();
    let passed = results.into_iter().filter(|(_, result)| *result == "pass");
    SenderVerdict::SignedBy(passed.map(|(domain, _)| domain.to_owned()).collect())
}

/// Each domain with its result. Of a repeated domain it is not known which of its results
/// counts.
fn results(text: &str) -> Option<Vec<(&str, &str)>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut results: Vec<(&str, &str)> = Vec::new();
    for one in inner.split(", ") {
        let (domain, result) = one.strip_prefix('@')?.split_once(" : ")?;
        let is_known = |(known, _): &(&str, &str)| known.eq_ignore_ascii_case(domain);
        let is_read = is_domain(domain) && is_word(result) && !results.iter().any(is_known);
        if !is_read || results.len() == MOST_RESULTS {
            return None;
        }
        results.push((domain, result));
    }
    Some(results)
}

fn is_domain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(is_plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= LONGEST_DOMAIN && text.contains('.') && text.split('.').all(is_label)
}

fn is_word(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(field: &str) -> Vec<String> {
        match signers(field.as_bytes()) {
            SenderVerdict::SignedBy(domains) => domains,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn domains_that_passed_are_read() {
        assert_eq!(passed("{@example.com : pass}"), ["example.com"]);
        let several = "{@a.test : pass, @b.test : fail, @c-1.Test : pass, @d.test : temperror}";
        assert_eq!(passed(several), ["a.test", "c-1.Test"]);
        let ten: Vec<String> = (0..10).map(|n| format!("@{n}.test : pass")).collect();
        assert_eq!(passed(&format!("{{{}}}", ten.join(", "))).len(), 10);
    }

    #[test]
    fn field_of_another_form_proves_nothing() {
        let eleven: Vec<String> = (0..11).map(|n| format!("@{n}.test : pass")).collect();
        let eleven = format!("{{{}}}", eleven.join(", "));
        let long = format!("{{@{}.test : pass}}", "a.".repeat(130));
        for odd in [
            "",
            "none",
            "{}",
            "{@a.test}",
            "{@a.test : }",
            "{@a.test : passed}",
            "{@a.test : PASS}",
            "{@a.test : pass }",
            "{@a.test: pass}",
            "{@a.test :pass}",
            "{ @a.test : pass}",
            "{@a.test  : pass}",
            "{{@a.test : pass}}",
            " {@a.test : pass}",
            "{@a.test : pass}\n",
            "@a.test : pass",
            "{a.test : pass}",
            "{x@a.test : pass}",
            "{@@a.test : pass}",
            "{@a.test : pass,@b.test : fail}",
            "{@a.test : pass, }",
            "{@a.test : pass, b.test : pass}",
            "{@a.test : pass, @b.test}",
            // Another result of the same domain, or what looks like one.
            "{@a.test : pass, @a.test : fail}",
            "{@a.test : pass, @A.TEST : pass}",
            "{@a.test : pass : fail}",
            "{@a.test : pass (not really)}",
            "{@a.test : pass, @b.test : fail (@c.test : pass)}",
            // Names that are no domains.
            "{@a.test : pass, @b : fail}",
            "{@a.test : pass, @ : fail}",
            "{@a_b.test : pass}",
            "{@a.test. : pass}",
            "{@.a.test : pass}",
            "{@-a.test : pass}",
            "{@a .test : pass}",
            "{@b\u{e4}nk.test : pass}",
            "{@a.test\0 : pass}",
            &eleven,
            &long,
        ] {
            assert!(passed(odd).is_empty(), "{odd:?}");
        }
        let broken = signers(b"{@a.test : pass, @\xff.test : fail}");
        assert_eq!(broken, SenderVerdict::SignedBy(Vec::new()));
    }
}
