//! The style declarations that decide whether text is visible.

use memchr::{memchr, memchr3};

use super::attribute::lowered;
use super::css;
use super::property::{Property, property};

/// Properties in source order, with those marked important apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Declarations {
    pub(super) normal: Vec<Property>,
    pub(super) important: Vec<Property>,
}

impl Declarations {
    pub(super) fn parse(text: &str) -> Self {
        let mut declarations = Self::default();
        let plain = text.contains("/*").then(|| css::without_comments(text));
        let text = plain.as_deref().unwrap_or(text);
        let has_quotes = memchr3(b'"', b'\'', b'(', text.as_bytes()).is_some();
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (declaration, after) = if has_quotes {
                css::split(text, b";")
            } else {
                halves(text, b';')
            };
            rest = after;
            let declaration = css::unescaped(declaration);
            let (name, Some(value)) = halves(&declaration, b':') else {
                continue;
            };
            let value = lowered(value.trim());
            let (value, important) = match value.rsplit_once('!') {
                Some((value, mark)) if mark.trim() == "important" => (value.trim(), true),
                _ => (value.as_ref(), false),
            };
            let list = if important {
                &mut declarations.important
            } else {
                &mut declarations.normal
            };
            if let Some(property) = property(&lowered(name.trim()), value) {
                set(list, property);
            }
        }
        declarations
    }

    /// How many properties there are.
    pub(super) fn len(&self) -> usize {
        self.normal.len() + self.important.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Adds a property. An earlier one of the same kind has no effect any more, so the list
/// stays short however long the style is.
fn set(list: &mut Vec<Property>, property: Property) {
    let is_same = |other: &&mut Property| match (&**other, &property) {
        (Property::Gone(one, _), Property::Gone(other, _)) => one == other,
        (Property::Unclear(one, _), Property::Unclear(other, _)) => one == other,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    };
    match list.iter_mut().find(is_same) {
        Some(earlier) => *earlier = property,
        None => list.push(property),
    }
}

/// Splits at the first separator. This search is most of the cost of parsing
/// declarations, which are many and short.
fn halves(text: &str, sign: u8) -> (&str, Option<&str>) {
    match memchr(sign, text.as_bytes()) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::color::Color;
    use crate::html::property::Display;

    #[test]
    fn only_properties_about_visibility_are_kept() {
        let style = Declarations::parse(
            "DISPLAY : none !important; color:#FFF; mso-hide:all; margin:0; opacity:.0",
        );
        assert_eq!(style.important, [Property::Display(Display::None)]);
        assert_eq!(
            style.normal,
            [
                Property::Color(Color::Rgb(255, 255, 255)),
                Property::Opacity(0.0)
            ]
        );
        assert!(Declarations::parse("mso-hide:all;padding:0").is_empty());
    }

    #[test]
    fn last_declaration_of_a_property_counts_and_the_list_stays_short() {
        let style = Declarations::parse(&"display:none;color:#000;".repeat(1_000));
        assert_eq!(style.len(), 2);
        let style = Declarations::parse("display:none;display:block");
        assert_eq!(style.normal, [Property::Display(Display::Block)]);
    }
}
