//! The fields of request bodies. Each rule is written once: the checks, the error
//! messages and the `OpenAPI` document all use it.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::problem::{InvalidBody, Problem};
use crate::policy::{MAX_ENTRIES, Policy};
use crate::settings::Settings;
use crate::state::Feed;

/// A request body with known fields. Every field has a default, so that each field
/// can be parsed alone to find the one that is invalid.
pub(crate) trait RequestBody: DeserializeOwned {
    /// All of its fields.
    fn fields(settings: &Settings, policy: &Policy) -> Vec<Field>;
}

/// One field.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// What it may contain, as a text for the caller.
    rule: String,
    range: Option<RangeInclusive<u64>>,
    /// The same as JSON Schema, as far as the Rust type does not say it.
    pub(crate) schema: Value,
}

impl Field {
    /// A field with a rule, and the part of it that a schema can express.
    pub(crate) fn new(name: &'static str, rule: impl Into<String>, schema: Value) -> Self {
        Self {
            name,
            rule: rule.into(),
            range: None,
            schema,
        }
    }

    /// A whole number within a range.
    pub(crate) fn number(name: &'static str, range: RangeInclusive<u64>, unit: &str) -> Self {
        let (min, max) = (range.start(), range.end());
        let rule = format!("{min} to {max} {unit}");
        let schema = json!({ "minimum": min, "maximum": max });
        Self {
            range: Some(range),
            ..Self::new(name, rule.trim_end(), schema)
        }
    }

    /// One of a few words. The schema of its type lists them.
    pub(crate) fn word(name: &'static str, words: &[&str]) -> Self {
        let rule = match words {
            [only] => (*only).to_owned(),
            many => format!("one of {}", many.join(", ")),
        };
        Self::new(name, rule, json!({}))
    }

    /// An identifier that the caller chooses.
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
        let rule = format!("at most {MAX_ENTRIES} domains such as example.com");
        Self::new("from", rule, text_list(MAX_ENTRIES, 253))
    }

    /// What must be true of a sender.
    pub(crate) fn require() -> Self {
        Self::word("require", &["verified"])
    }

    /// The hosts that a link may lead to.
    pub(crate) fn links() -> Self {
        let rule = format!(
            "at most {MAX_ENTRIES} hosts such as example.com or *.example.com, each within \
             what the operator allows"
        );
        Self::new("links", rule, text_list(MAX_ENTRIES, 2048))
    }
}

/// The schema of a list of texts.
pub(crate) fn text_list(max_items: usize, max_length: usize) -> Value {
    let item = json!({ "type": "string", "minLength": 1, "maxLength": max_length });
    json!({ "maxItems": max_items, "items": item })
}

/// All fields of one request body.
pub(crate) struct Fields(Vec<Field>);

impl Fields {
    pub(crate) fn of<T: RequestBody>(feed: &Feed) -> Self {
        Self(T::fields(&feed.deps.settings, &feed.deps.policy))
    }

    /// Whether there is such a field.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The rule that a field violates.
    pub(crate) fn violated(&self, name: &str) -> InvalidBody {
        match self.find(name) {
            Some(field) => InvalidBody::field(field.name, field.rule.clone()),
            None => self.unknown(),
        }
    }

    /// There is no such field; which there are.
    pub(crate) fn unknown(&self) -> InvalidBody {
        InvalidBody::unknown_field(self.0.iter().map(|field| field.name).collect())
    }

    /// The problem for an invalid field.
    pub(crate) fn invalid(&self, name: &str) -> Problem {
        Problem::InvalidBody(self.violated(name))
    }

    /// Refuses a number that is out of range.
    pub(crate) fn check(&self, name: &str, number: u64) -> Result<(), Problem> {
        let range = self.find(name).and_then(|field| field.range.as_ref());
        let fits = range.is_some_and(|range| range.contains(&number));
        fits.then_some(()).ok_or_else(|| self.invalid(name))
    }

    fn find(&self, name: &str) -> Option<&Field> {
        self.0.iter().find(|field| field.name == name)
    }
}
