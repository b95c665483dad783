//! Templates: the operator writes the mail, and an agent fills in values whose characters
//! and lengths are limited. So an agent that read hostile mail can say nothing but what
//! the operator foresaw.

mod markup;
mod pieces;
mod value;

use std::collections::BTreeMap;

use pipeline::{TemplateValue, ValueOffer};
use serde::Deserialize;

use crate::approval::Approval;
use crate::header_text::is_one_line;
use crate::links::foreign_link;
use crate::mail::with_crlf;

use pieces::Pieces;
pub use value::{ValueKind, ValueSettings};

/// The longest subject, in characters.
const LONGEST_SUBJECT: usize = 200;
/// The longest text and the longest HTML, in bytes.
const LONGEST_BODY: usize = 256 * 1024;

/// One `[templates.NAME]` of the configuration, as written and not yet checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateSettings {
    /// The subject of a mail; a reply has its own.
    pub subject: String,
    /// The plain text, with `{{name}}` where a value goes.
    pub text: String,
    /// The same as HTML.
    pub html: Option<String>,
    /// The values that it takes.
    #[serde(default)]
    pub values: BTreeMap<String, ValueSettings>,
    /// Whether an operator must approve each mail.
    #[serde(default)]
    pub approval: Approval,
}

/// A checked template.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    subject: Pieces,
    text: Pieces,
    html: Option<Pieces>,
    values: BTreeMap<String, ValueSettings>,
    approval: Approval,
}

/// What a template makes of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// The subject.
    pub(crate) subject: String,
    /// The plain text, with CRLF line ends.
    pub(crate) text: String,
    /// The HTML.
    pub(crate) html: Option<String>,
}

/// A template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFlaw {
    /// Two braces without an end, or without a name between them.
    #[error("`{{{{` must be followed by a name of a-z, 0-9 and _, and by `}}}}`")]
    Placeholder,
    /// A placeholder that no value is declared for.
    #[error("`{0}` is not declared in `values`")]
    Undeclared(String),
    /// A declared value that is not used.
    #[error("the value `{0}` is not used")]
    Unused(String),
    /// A value's limits are not usable.
    #[error("the value `{0}` has no usable type")]
    Value(String),
    /// Free text without approval.
    #[error("the value `{0}` is free text, which needs approval = \"always\"")]
    FreeText(String),
    /// A subject of several lines, or one that is too long.
    #[error("the subject must be one line of at most {LONGEST_SUBJECT} characters")]
    Subject,
    /// A value in a part of the HTML in which escaping does not protect.
    #[error("in `html`, the value `{0}` must be text or the whole of a quoted attribute")]
    Position(String),
    /// Scripts are not mail.
    #[error("`html` must not contain a script")]
    Script,
    /// A link to a foreign host.
    #[error("it links to `{0}`, which is not one of the sender's `links`")]
    ForeignLink(String),
}

/// Values cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValuesError {
    /// A declared value is not given.
    #[error("the value `{0}` is missing")]
    Missing(String),
    /// A value that the template does not declare.
    #[error("the template takes no such value")]
    Undeclared,
    /// A value that breaks its limits.
    #[error("the value `{0}` is not a valid {1}")]
    Unfit(String, &'static str),
    /// A link to a host that is not the sender's.
    #[error("a link leads to a host that is not the sender's")]
    ForeignLink,
    /// The mail would be too long.
    #[error("the mail would be too long")]
    TooLong,
}

impl Template {
    /// Its values, as an agent sees them.
    pub(crate) fn offered_values(&self) -> Vec<ValueOffer> {
        let offer = |(name, value): (&String, &ValueSettings)| ValueOffer {
            name: name.clone(),
            kind: value.kind.name(),
            choices: value.choices.clone(),
        };
        self.values.iter().map(offer).collect()
    }

    /// Checks a template.
    pub(crate) fn build(settings: TemplateSettings) -> Result<Self, TemplateFlaw> {
        let template = Self {
            subject: Pieces::parse(&settings.subject)?,
            text: Pieces::parse(&with_crlf(&settings.text))?,
            html: settings.html.as_deref().map(Pieces::parse).transpose()?,
            values: settings.values,
            approval: settings.approval,
        };
        template.check()?;
        Ok(template)
    }

    fn check(&self) -> Result<(), TemplateFlaw> {
        let parts = [Some(&self.subject), Some(&self.text), self.html.as_ref()];
        let used: Vec<&str> = parts
            .iter()
            .flatten()
            .flat_map(|part| part.names())
            .collect();
        if let Some(name) = used.iter().find(|name| !self.values.contains_key(**name)) {
            return Err(TemplateFlaw::Undeclared((*name).to_owned()));
        }
        for (name, value) in &self.values {
            let flaw = |flaw: fn(String) -> TemplateFlaw| Err(flaw(name.clone()));
            if !used.contains(&name.as_str()) {
                return flaw(TemplateFlaw::Unused);
            }
            if !value.is_usable() {
                return flaw(TemplateFlaw::Value);
            }
            if value.kind == ValueKind::Text && self.approval != Approval::Always {
                return flaw(TemplateFlaw::FreeText);
            }
        }
        let subject = self.subject.literal();
        if !is_one_line(&subject) || subject.chars().count() > LONGEST_SUBJECT {
            return Err(TemplateFlaw::Subject);
        }
        match &self.html {
            Some(html) => markup::check(html, &self.values),
            None => Ok(()),
        }
    }

    /// Whether an operator must approve each mail.
    pub(crate) fn approval(&self) -> Approval {
        self.approval
    }

    /// Checks that the operator's own text links to these hosts only.
    pub(crate) fn check_links(&self, hosts: &[String]) -> Result<(), TemplateFlaw> {
        let parts = [Some(&self.text), self.html.as_ref()];
        for part in parts.into_iter().flatten() {
            if let Some(host) = foreign_link(&part.literal(), hosts) {
                return Err(TemplateFlaw::ForeignLink(host));
            }
        }
        Ok(())
    }

    /// Fills in the values. `hosts` are the hosts that links may lead to.
    pub(crate) fn fill(
        &self,
        given: &BTreeMap<String, TemplateValue>,
        hosts: &[String],
    ) -> Result<Content, ValuesError> {
        if given.keys().any(|name| !self.values.contains_key(name)) {
            return Err(ValuesError::Undeclared);
        }
        let mut values = BTreeMap::new();
        for (name, settings) in &self.values {
            let value = given.get(name);
            let value = value.ok_or_else(|| ValuesError::Missing(name.clone()))?;
            let text = settings.accept(value, hosts);
            let unfit = || ValuesError::Unfit(name.clone(), settings.kind.name());
            values.insert(name.as_str(), text.ok_or_else(unfit)?);
        }
        let content = Content {
            subject: self.subject.fill(&values, one_line),
            text: self.text.fill(&values, with_crlf),
            html: self.html.as_ref().map(|html| html.fill(&values, escape)),
        };
        content.check(hosts)?;
        Ok(content)
    }
}

impl Content {
    /// Checks what the values made of the whole.
    fn check(&self, hosts: &[String]) -> Result<(), ValuesError> {
        let bodies = [Some(&self.text), self.html.as_ref()];
        for body in bodies.into_iter().flatten() {
            if foreign_link(body, hosts).is_some() {
                return Err(ValuesError::ForeignLink);
            }
            if body.len() > LONGEST_BODY {
                return Err(ValuesError::TooLong);
            }
        }
        if self.subject.chars().count() > LONGEST_SUBJECT {
            return Err(ValuesError::TooLong);
        }
        Ok(())
    }
}

/// A value in the subject. Values of every type but free text are one line anyway.
fn one_line(value: &str) -> String {
    let spaced = |letter: char| {
        if is_one_line(letter.encode_utf8(&mut [0; 4])) {
            letter
        } else {
            ' '
        }
    };
    value.chars().map(spaced).collect()
}

/// A value as text of HTML, also inside of a quoted attribute.
fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
