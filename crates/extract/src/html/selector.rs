//! Selectors by tag, class, id, attribute and ancestor.

use std::collections::VecDeque;

use super::css;
use crate::steps::Steps;

/// Longer attribute values are compared in their first bytes only.
const MAX_COMPARED: usize = 256;
/// More elements than any real selector names.
const MAX_COMPOUNDS: usize = 32;
/// Steps charged for one condition.
const PER_CONDITION: usize = 6;
/// Steps charged for parsing one word, and one condition of it: each is copied.
const PER_WORD: usize = 80;
const PER_PARSED: usize = 30;

/// A selector such as `table.code > td .value`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selector {
    /// The element itself.
    pub(super) subject: Compound,
    /// Its ancestors, nearest first, and whether each must be the parent.
    ancestors: Vec<(Compound, bool)>,
    /// It has conditions on state or order that are not checked, so it selects more
    /// than it says.
    pub(super) is_wide: bool,
}

/// Conditions on one element.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compound {
    tag: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
    attributes: Vec<(String, Option<(char, String)>)>,
}

/// The properties of an element that a selector compares.
pub(super) trait Node {
    /// In lower case.
    fn tag(&self) -> &str;
    fn id(&self) -> &str;
    /// Each class once.
    fn classes(&self) -> impl Iterator<Item = &str>;
    fn attribute(&self, name: &str) -> Option<&str>;
    fn attribute_count(&self) -> usize;
}

/// What a word of a selector is.
enum Part {
    Compound(Compound),
    /// The word has conditions that are not checked.
    Wide(Compound),
    /// The word depends on what the user does, such as `:hover`.
    Interactive,
}

impl Selector {
    /// Parses a selector; `None` if it applies only while the user does something.
    pub(super) fn parse(text: &str, steps: &Steps<'_>) -> Option<Self> {
        let mut compounds: VecDeque<(Compound, bool)> = VecDeque::new();
        let (mut parent, mut is_wide, mut after_sibling) = (false, false, false);
        for word in words(text) {
            if !steps.charge(PER_WORD) {
                return None;
            }
            if matches!(word, "+" | "~") {
                // The sibling before it is not checked; its parent is the same.
                parent = compounds.pop_back()?.1;
                (is_wide, after_sibling) = (true, true);
                continue;
            }
            if word == ">" {
                parent = true;
                continue;
            }
            let compound = match part(word)? {
                Part::Compound(compound) => compound,
                Part::Wide(compound) => {
                    is_wide = true;
                    compound
                }
                Part::Interactive => return None,
            };
            let conditions = compound.classes.len() + compound.attributes.len();
            if !steps.charge(PER_PARSED * conditions) {
                return None;
            }
            if compounds.len() == MAX_COMPOUNDS {
                // An ancestor that is not checked.
                compounds.pop_front();
                is_wide = true;
            }
            compounds.push_back((compound, parent));
            parent = false;
            after_sibling = false;
        }
        if after_sibling {
            return None;
        }
        let (subject, subject_needs_parent) = compounds.pop_back()?;
        let mut ancestors = Vec::new();
        let mut needs_parent = subject_needs_parent;
        while let Some((compound, next)) = compounds.pop_back() {
            ancestors.push((compound, needs_parent));
            needs_parent = next;
        }
        Some(Self {
            subject,
            ancestors,
            is_wide,
        })
    }

    /// The number of ids, of classes and attributes, and of tags.
    pub(super) fn specificity(&self) -> (usize, usize, usize) {
        std::iter::once(&self.subject)
            .chain(self.ancestors.iter().map(|(compound, _)| compound))
            .fold((0, 0, 0), |(ids, classes, tags), compound| {
                (
                    ids + usize::from(compound.id.is_some()),
                    classes + compound.classes.len() + compound.attributes.len(),
                    tags + usize::from(compound.tag.is_some()),
                )
            })
    }

    /// Whether it selects the node inside the open elements, innermost last.
    pub(super) fn matches<N: Node>(&self, node: &N, open: &[N], steps: &Steps<'_>) -> bool {
        if !self.subject.matches(node, steps) {
            return false;
        }
        let mut above = open.iter().rev();
        self.ancestors.iter().all(|(compound, must_be_parent)| {
            if *must_be_parent {
                above
                    .next()
                    .is_some_and(|element| compound.matches(element, steps))
            } else {
                above.any(|element| compound.matches(element, steps))
            }
        })
    }
}

impl Compound {
    /// The id, class or tag that an element needs in any case.
    pub(super) fn key(&self) -> Option<&str> {
        let class = self.classes.first().map(String::as_str);
        self.id.as_deref().or(class).or(self.tag.as_deref())
    }

    fn matches<N: Node>(&self, node: &N, steps: &Steps<'_>) -> bool {
        let has_class = |class: &String| {
            steps.charge(PER_CONDITION + class.len()) && node.classes().any(|own| own == class)
        };
        let has = |(name, test): &(String, Option<(char, String)>)| {
            let longest = if node.attribute_count() == 0 {
                0
            } else {
                MAX_COMPARED / 4
            };
            steps.charge(PER_CONDITION + longest) && has_attribute(node, name, test.as_ref())
        };
        steps.charge(PER_CONDITION)
            && self.tag.as_deref().is_none_or(|tag| tag == node.tag())
            && self.id.as_deref().is_none_or(|id| id == node.id())
            && self.classes.iter().all(has_class)
            && self.attributes.iter().all(has)
    }
}

/// The compounds of a selector and the signs between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        let end = match css::find(rest, b" \t\r\n>+~") {
            Some(0) => 1,
            Some(end) => end,
            None => rest.len(),
        };
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

fn part(text: &str) -> Option<Part> {
    let mut compound = Compound::default();
    let mut is_wide = false;
    let (tag, mut rest) = at_next_condition(text);
    // Before the bar is a namespace.
    let tag = css::unescaped(tag.rsplit('|').next().unwrap_or_default());
    if !tag.is_empty() && tag != "*" {
        compound.tag = Some(tag.to_ascii_lowercase());
    }
    while let Some(kind) = rest.chars().next() {
        let body = rest.get(kind.len_utf8()..)?;
        if kind == '[' {
            let (inner, after) = css::split(body, b"]");
            let (condition, has_flag) = attribute(inner);
            compound.attributes.push(condition);
            is_wide |= has_flag;
            rest = after.unwrap_or_default();
            continue;
        }
        let (name, after) = at_next_condition(body.strip_prefix(':').unwrap_or(body));
        rest = after;
        let is_pseudo = !matches!(kind, '.' | '#');
        match kind {
            '.' => compound.classes.push(css::unescaped(name).into_owned()),
            '#' => compound.id = Some(css::unescaped(name).into_owned()),
            _ if name == "root" => compound.tag = Some("html".to_owned()),
            _ if matches!(name, "link" | "any-link") => {}
            _ if is_interactive(name) || name.is_empty() => return Some(Part::Interactive),
            _ => {}
        }
        is_wide |= is_pseudo && !matches!(name, "root" | "link" | "any-link");
    }
    Some(if is_wide {
        Part::Wide(compound)
    } else {
        Part::Compound(compound)
    })
}

/// Splits before the next class, id, attribute or pseudo-class. Brackets belong to the
/// name before them.
fn at_next_condition(text: &str) -> (&str, &str) {
    text.split_at(css::find(text, b".#[:").unwrap_or(text.len()))
}

/// States that begin with something the user does, and generated content.
fn is_interactive(name: &str) -> bool {
    matches!(
        name,
        "hover"
            | "focus"
            | "active"
            | "visited"
            | "target"
            | "focus-within"
            | "focus-visible"
            | "before"
            | "after"
            | "marker"
            | "selection"
            | "placeholder"
    ) || name.starts_with('-')
}

/// The test of an attribute, and whether it has a flag that is not checked.
fn attribute(inner: &str) -> ((String, Option<(char, String)>), bool) {
    let Some((name, value)) = inner.split_once('=') else {
        return ((inner.trim().to_ascii_lowercase(), None), false);
    };
    let name = name.trim();
    let plain = name
        .trim_end_matches(['~', '*', '^', '$', '|'])
        .trim()
        .to_ascii_lowercase();
    let value = value.trim();
    if value.contains([' ', '"', '\'']) {
        let is_flag = |text: &str| matches!(text.to_ascii_lowercase().as_str(), "i" | "s");
        let last = value.rsplit([' ', '"', '\'']).next();
        if last.is_some_and(is_flag) {
            return ((plain, None), true);
        }
    }
    let value = css::unescaped(value.trim_matches(['"', '\''])).into_owned();
    let operator = name
        .chars()
        .next_back()
        .filter(|c| matches!(c, '~' | '*' | '^' | '$' | '|'))
        .unwrap_or('=');
    ((plain, Some((operator, value))), false)
}

fn has_attribute<N: Node>(node: &N, name: &str, test: Option<&(char, String)>) -> bool {
    let Some(actual) = node.attribute(name) else {
        return false;
    };
    let Some((operator, value)) = test else {
        return true;
    };
    if value.len() > MAX_COMPARED {
        return false;
    }
    let head = actual
        .get(..actual.floor_char_boundary(MAX_COMPARED))
        .unwrap_or_default();
    match operator {
        '~' => head.split_whitespace().any(|word| word == value),
        '*' => head.contains(value.as_str()),
        '^' | '|' => actual.starts_with(value.as_str()),
        '$' => actual.ends_with(value.as_str()),
        _ => actual == value,
    }
}
