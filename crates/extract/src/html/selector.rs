//! Selectors by tag, class, id, attribute and ancestor.

/// A selector such as `table.code > td .value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selector {
    /// The element itself.
    pub(super) subject: Compound,
    /// Its ancestors, nearest first, and whether each must be the parent.
    ancestors: Vec<(Compound, bool)>,
}

/// Conditions on one element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compound {
    pub(super) tag: Option<String>,
    pub(super) id: Option<String>,
    pub(super) classes: Vec<String>,
    attributes: Vec<(String, Option<(char, String)>)>,
}

/// The properties of an element that a selector compares.
pub(super) trait Node {
    /// In lower case.
    fn tag(&self) -> &str;
    fn id(&self) -> &str;
    fn has_class(&self, class: &str) -> bool;
    fn attribute(&self, name: &str) -> Option<&str>;
}

impl Selector {
    /// Parses a selector; `None` if it depends on state or order.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut compounds: Vec<(Compound, bool)> = Vec::new();
        let mut parent = false;
        for word in text.replace('>', " > ").split_whitespace() {
            if word != ">" {
                compounds.push((Compound::parse(word)?, parent));
            }
            parent = word == ">";
        }
        let (subject, subject_needs_parent) = compounds.pop()?;
        let mut ancestors = Vec::new();
        let mut needs_parent = subject_needs_parent;
        while let Some((compound, next)) = compounds.pop() {
            ancestors.push((compound, needs_parent));
            needs_parent = next;
        }
        Some(Self { subject, ancestors })
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
    pub(super) fn matches<N: Node, A: Node>(&self, node: &N, open: &[A]) -> bool {
        if !self.subject.matches(node) {
            return false;
        }
        let mut above = open.iter().rev();
        self.ancestors.iter().all(|(compound, must_be_parent)| {
            if *must_be_parent {
                above
                    .next()
                    .is_some_and(|element| compound.matches(element))
            } else {
                above.any(|element| compound.matches(element))
            }
        })
    }
}

impl Compound {
    fn parse(text: &str) -> Option<Self> {
        let mut compound = Self::default();
        let mut rest = text;
        let tag_end = rest.find(['.', '#', '[', ':']).unwrap_or(rest.len());
        let (tag, after) = rest.split_at(tag_end);
        if !tag.is_empty() && tag != "*" {
            compound.tag = Some(tag.to_ascii_lowercase());
        }
        rest = after;
        while let Some(kind) = rest.chars().next() {
            let body = rest.get(kind.len_utf8()..)?;
            if kind == '[' {
                let (inner, after) = body.split_once(']')?;
                compound.attributes.push(attribute(inner));
                rest = after;
                continue;
            }
            let end = body.find(['.', '#', '[', ':']).unwrap_or(body.len());
            let (name, after) = body.split_at(end);
            match kind {
                '.' => compound.classes.push(name.to_owned()),
                '#' => compound.id = Some(name.to_owned()),
                ':' if name == "root" => {}
                _ => return None,
            }
            rest = after;
        }
        Some(compound)
    }

    fn matches<N: Node>(&self, node: &N) -> bool {
        self.tag.as_deref().is_none_or(|tag| tag == node.tag())
            && self.id.as_deref().is_none_or(|id| id == node.id())
            && self.classes.iter().all(|class| node.has_class(class))
            && self
                .attributes
                .iter()
                .all(|(name, test)| has_attribute(node, name, test.as_ref()))
    }
}

fn attribute(inner: &str) -> (String, Option<(char, String)>) {
    let Some((name, value)) = inner.split_once('=') else {
        return (inner.trim().to_ascii_lowercase(), None);
    };
    let value = value.trim().trim_matches(['"', '\'']).to_owned();
    let name = name.trim();
    let operator = name
        .chars()
        .next_back()
        .filter(|c| matches!(c, '~' | '*' | '^' | '$' | '|'))
        .unwrap_or('=');
    (
        name.trim_end_matches(['~', '*', '^', '$', '|'])
            .to_ascii_lowercase(),
        Some((operator, value)),
    )
}

fn has_attribute<N: Node>(node: &N, name: &str, test: Option<&(char, String)>) -> bool {
    let Some(actual) = node.attribute(name) else {
        return false;
    };
    match test {
        None => true,
        Some(('~', value)) => actual.split_whitespace().any(|word| word == value),
        Some(('*', value)) => actual.contains(value.as_str()),
        Some(('^' | '|', value)) => actual.starts_with(value.as_str()),
        Some(('$', value)) => actual.ends_with(value.as_str()),
        Some((_, value)) => actual == value,
    }
}
