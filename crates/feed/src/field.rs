//! The fields of bodies: what each may hold, said once. The checks read it, a
//! refusal tells it, and so does the API's description.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::policy::MOST_ENTRIES;
use crate::problem::{Problem, Unfit};
use crate::routes::Feed;
use crate::{Policy, Settings};

/// A body whose fields are known. Every field has a default, so that each can be
/// tried alone when one of them does not fit.
pub(crate) trait Wished: DeserializeOwned {
    /// All of its fields.
    fn fields(settings: &Settings, policy: &Policy) -> Vec<Field>;
}

/// One field.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// What it may hold, in words of ours.
    rule: String,
    numbers: Option<RangeInclusive<u64>>,
    /// The same for the description, as far as its type does not say it.
    pub(crate) schema: Value,
}

impl Field {
    /// A field with a rule, and what of it a schema can say.
    pub(crate) fn new(name: &'static str, rule: impl Into<String>, schema: Value) -> Self {
        Self {
            name,
            rule: rule.into(),
            numbers: None,
            schema,
        }
    }

    /// A whole number of something.
    pub(crate) fn number(name: &'static str, numbers: RangeInclusive<u64>, of: &str) -> Self {
        let (least, most) = (numbers.start(), numbers.end());
        let rule = format!("{least} to {most} {of}");
        let schema = json!({ "minimum": least, "maximum": most });
        Self {
            numbers: Some(numbers),
            ..Self::new(name, rule.trim_end(), schema)
        }
    }

    /// One of a few words; its type lists them.
    pub(crate) fn word(name: &'static str, words: &[&str]) -> Self {
        let rule = format!("one of {}", words.join(", "));
        Self::new(name, rule.replace("one of verified", "verified"), json!({}))
    }

    /// A word of the caller's own.
    pub(crate) fn caller_word(name: &'static str) -> Self {
        let rule = "1 to 256 visible ASCII characters";
        let schema = json!({ "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$" });
        Self::new(name, rule, schema)
    }

    /// The address of an inbox.
    pub(crate) fn address(name: &'static str, rule: &str) -> Self {
        Self::new(name, rule, json!({ "minLength": 3, "maxLength": 318 }))
    }

    /// The domains that a sender may have.
    pub(crate) fn senders() -> Self {
        let rule = format!("at most {MOST_ENTRIES} domains such as example.com");
        Self::new("from", rule, texts(MOST_ENTRIES, 253))
    }

    /// What a sender must be.
    pub(crate) fn require() -> Self {
        Self::word("require", &["verified"])
    }

    /// Where a link may lead.
    pub(crate) fn links() -> Self {
        let rule = format!(
            "at most {MOST_ENTRIES} hosts such as example.com or *.example.com, each under \
             what the operator allows"
        );
        Self::new("links", rule, texts(MOST_ENTRIES, 2048))
    }
}

/// The schema of a list of texts.
pub(crate) fn texts(most: usize, longest: usize) -> Value {
    let item = json!({ "type": "string", "minLength": 1, "maxLength": longest });
    json!({ "maxItems": most, "items": item })
}

/// All fields of one body.
pub(crate) struct Fields(Vec<Field>);

impl Fields {
    pub(crate) fn of<T: Wished>(feed: &Feed) -> Self {
        Self(T::fields(&feed.deps.settings, &feed.deps.policy))
    }

    /// Whether there is such a field.
    pub(crate) fn know(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// What a field may hold, for somebody who has put something else there.
    pub(crate) fn rule_of(&self, name: &str) -> Unfit {
        match self.find(name) {
            Some(field) => Unfit::field(field.name, field.rule.clone()),
            None => Unfit::whole("unknown_field"),
        }
    }

    /// The refusal of a field.
    pub(crate) fn unfit(&self, name: &str) -> Problem {
        Problem::InvalidBody(self.rule_of(name))
    }

    /// Refuses a number out of its bounds.
    pub(crate) fn check(&self, name: &str, number: u64) -> Result<(), Problem> {
        let numbers = self.find(name).and_then(|field| field.numbers.as_ref());
        let fits = numbers.is_some_and(|numbers| numbers.contains(&number));
        fits.then_some(()).ok_or_else(|| self.unfit(name))
    }

    fn find(&self, name: &str) -> Option<&Field> {
        self.0.iter().find(|field| field.name == name)
    }
}
