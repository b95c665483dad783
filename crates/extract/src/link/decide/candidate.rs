//! A link of a mail, before anything is decided.

use std::collections::HashMap;

use url::Url;

use crate::host;
use crate::link::address::senses;
use crate::link::classify::{Classified, Words};
use crate::link::collect::WrittenLink;
use crate::link::concepts::Concepts;
use crate::link::facts::{FACTS, facts};
use crate::link::features;
use crate::link::gate::{Checked, check};
use crate::link::token::token_strength;
use crate::model::{Collector, Features, PARTS};
use crate::reading::TextSource;
use crate::rejection::Rejection;
use crate::steps::Steps;

/// The longest label that is compared, in bytes.
const LONGEST_LABEL: usize = 60;
/// The points of a link that must not be followed.
pub(super) const UNUSABLE: i32 = -1000;

/// A link of a mail, checked, classified and rated.
#[derive(Debug)]
pub(super) struct LinkCandidate {
    pub(super) source: TextSource,
    /// Its byte offset in the decoded source.
    pub(super) at: usize,
    pub(super) checked: Result<Checked, Rejection>,
    /// The same number for the same target.
    pub(super) target: Option<usize>,
    /// Its text names another host than the one it leads to.
    pub(super) shows_other_host: bool,
    /// A person may or may not see it.
    pub(super) is_unclear: bool,
    /// What it does by the URL in the mail.
    pub(super) as_written: Classified,
    /// What it does by the URL inside its wrappers, where it has any.
    pub(super) as_target: Option<Classified>,
    /// Its text, if it is short and no URL.
    pub(super) label: Option<String>,
    /// Another link with this text leads to another place.
    pub(super) has_ambiguous_label: bool,
    /// The URL that counts, for training.
    pub(super) href: String,
    /// The same URL for comparing: `%2F` in a parameter is `/`.
    pub(super) page: String,
    pub(super) features: Features,
    pub(super) facts: [i32; FACTS],
    /// The log odds that each part of its features gives.
    pub(super) parts: [i32; PARTS],
    /// The log odds that the model gives it by itself.
    pub(super) rated: i32,
    /// The log odds that the trees give it beside all links of the mail.
    pub(super) odds: i32,
}

/// What the links of one mail have in common while they are read.
pub(super) struct Search<'s> {
    /// A number for each target.
    pub(super) targets: HashMap<String, usize>,
    pub(super) collector: Collector,
    pub(super) steps: &'s Steps<'s>,
}

impl LinkCandidate {
    /// Nothing for what is no web link at all, such as `mailto:`.
    pub(super) fn of(
        (written, concepts): (&WrittenLink, Concepts<'_>),
        at: usize,
        words: &Words,
        search: &mut Search<'_>,
    ) -> Option<Self> {
        let url = Url::parse(&written.href)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let checked = check(&written.href);
        let is_opaque = checked.as_ref().is_ok_and(Checked::is_opaque);
        let target = checked.as_ref().ok().map(|checked| {
            let next = search.targets.len();
            *search.targets.entry(page(&checked.url)).or_insert(next)
        });
        let shows_other_host = checked.as_ref().is_ok_and(|checked| {
            let mut shown = written.shown_hosts.iter();
            shown.any(|shown| !is_same_site(shown, &checked.host))
        });
        let as_target = checked
            .as_ref()
            .ok()
            .filter(|checked| checked.is_wrapped())
            .map(|checked| words.classify(&checked.url, false));
        let as_written = words.classify(&url, is_opaque);
        let (counts, classified) = match (&checked, &as_target) {
            (Ok(checked), Some(target)) => (&checked.url, target),
            _ => (&url, &as_written),
        };
        let strength = if is_opaque { 3 } else { token_strength(counts) };
        let seen = (strength, &mut search.collector);
        let said = (words, classified, senses(counts));
        let facts = facts(written, counts, said, strength);
        let features = features::of_link((written, concepts), counts, said, seen, search.steps);
        Some(Self {
            features,
            facts,
            parts: [0; PARTS],
            rated: i32::MIN,
            odds: i32::MIN,
            label: short_label(&written.label),
            has_ambiguous_label: false,
            href: counts.to_string(),
            page: page(counts),
            source: written.source,
            at,
            target,
            shows_other_host,
            is_unclear: written.is_unclear,
            as_written,
            as_target,
            checked,
        })
    }

    /// The points of the rules. One that must not be followed has [`UNUSABLE`].
    pub(super) fn points(&self) -> i32 {
        let classified = self.as_target.as_ref().unwrap_or(&self.as_written);
        if self.checked.is_err() || classified.is_protected() {
            UNUSABLE
        } else {
            classified.score()
        }
    }

    /// Says that the link must not be followed.
    pub(super) fn protect(&mut self) {
        self.as_written.rules.clear();
        if let Some(target) = &mut self.as_target {
            target.rules.clear();
        }
    }
}

/// A URL with its parameters decoded, if that is possible without a loss. Different URLs stay
/// different: no part of them has the line break that separates the parts here.
fn page(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    let mut page = bare.to_string();
    let is_plain = |text: &str| !text.contains(['\n', '\u{fffd}']);
    if url
        .query_pairs()
        .all(|(name, value)| is_plain(&name) && is_plain(&value))
    {
        for (name, value) in url.query_pairs() {
            page.extend(["\n", &name, "\n", &value]);
        }
    } else {
        page.extend(["\n", url.query().unwrap_or_default()]);
    }
    page.push_str("\n#");
    page.push_str(url.fragment().unwrap_or_default());
    page
}

fn is_same_site(shown: &str, host: &str) -> bool {
    shown == host
        || host::registrable(shown).is_some_and(|site| host::registrable(host) == Some(site))
}

/// A label as it is compared with those of other links.
fn short_label(label: &str) -> Option<String> {
    let label = label.trim();
    let is_short = (1..=LONGEST_LABEL).contains(&label.len());
    is_short.then(|| label.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_equal_only_if_the_decoded_urls_are() {
        let page = |url: &str| page(&Url::parse(url).unwrap());
        let same = [
            ("https://a.com/p?x=a/b", "https://a.com/p?x=a%2Fb"),
            ("https://a.com/p?x=a+b", "https://a.com/p?x=a%20b"),
        ];
        for (one, other) in same {
            assert_eq!(page(one), page(other));
        }
        let different = [
            ("https://a.com/p&a=b", "https://a.com/p?a=b"),
            ("https://a.com/p#f&a=b", "https://a.com/p?a=b#f"),
            ("https://a.com/p?a=b%26c=d", "https://a.com/p?a=b&c=d"),
            ("https://a.com/p?a=b%0Ac%0Ad", "https://a.com/p?a=b&c=d"),
            ("https://a.com/p?a=%ff", "https://a.com/p?a=%fe"),
            ("https://a.com/p/a%2Fb", "https://a.com/p/a/b"),
        ];
        for (one, other) in different {
            assert_ne!(page(one), page(other));
        }
    }
}
