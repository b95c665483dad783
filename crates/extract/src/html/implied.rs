//! Elements that end without an end tag. Names are in lower case.

use super::element::Element;

/// Elements without content, or whose content is part of their start token.
pub(super) fn is_childless(name: &str) -> bool {
    is_head_content(name) && !matches!(name, "noscript" | "template")
        || matches!(
            name,
            "br" | "img"
                | "hr"
                | "input"
                | "area"
                | "col"
                | "embed"
                | "source"
                | "track"
                | "wbr"
                | "param"
                | "textarea"
                | "xmp"
                | "iframe"
                | "noembed"
                | "noframes"
        )
}

fn is_head_content(name: &str) -> bool {
    matches!(
        name,
        "title" | "meta" | "link" | "style" | "script" | "base" | "noscript" | "template"
    )
}

/// Elements that end without an end tag, when another element begins.
struct Group {
    /// The elements that end.
    ended: &'static [&'static str],
    /// They end only inside the innermost of these elements, not outside it.
    within: &'static [&'static str],
}

const GROUPS: [Group; 7] = [
    Group {
        ended: &["td", "th"],
        within: &["table"],
    },
    Group {
        ended: &["tr"],
        within: &["table"],
    },
    Group {
        ended: &["li"],
        within: &["ul", "ol"],
    },
    Group {
        ended: &["option"],
        within: &["select"],
    },
    Group {
        ended: &["dt", "dd"],
        within: &["dl"],
    },
    Group {
        ended: &["head"],
        within: &[],
    },
    Group {
        ended: &["p"],
        within: &["table", "div", "td", "th", "li", "body", "button"],
    },
];

/// The group of elements that an element of this name ends.
fn ends(name: &str) -> Option<usize> {
    Some(match name {
        "td" | "th" => 0,
        "tr" | "tbody" | "thead" | "tfoot" => 1,
        "li" => 2,
        "option" => 3,
        "dt" | "dd" => 4,
        "body" => 5,
        "p" | "div" | "table" | "ul" | "ol" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "hr"
        | "blockquote" | "pre" | "center" | "section" | "form" => 6,
        _ => return None,
    })
}

/// The open elements, outermost first, with what is needed to end them quickly.
#[derive(Default)]
pub(super) struct OpenElements<'a> {
    elements: Vec<Element<'a>>,
    /// A hash of each element's name, because an end tag looks for its name.
    hashes: Vec<u32>,
    /// For each group, the depths of the elements that belong to it or limit it.
    groups: [Vec<usize>; 7],
}

impl<'a> OpenElements<'a> {
    pub(super) fn all(&self) -> &[Element<'a>] {
        &self.elements
    }

    pub(super) fn last(&self) -> Option<&Element<'a>> {
        self.elements.last()
    }

    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    pub(super) fn push(&mut self, element: Element<'a>) {
        let name = element.tag.as_ref();
        for (group, depths) in GROUPS.iter().zip(&mut self.groups) {
            if group.ended.contains(&name) || group.within.contains(&name) {
                depths.push(self.elements.len());
            }
        }
        self.hashes.push(hash(name));
        self.elements.push(element);
    }

    pub(super) fn pop(&mut self) -> Option<Element<'a>> {
        let element = self.elements.pop()?;
        self.hashes.pop();
        let depth = self.elements.len();
        for depths in &mut self.groups {
            depths.pop_if(|last| *last == depth);
        }
        Some(element)
    }

    /// The depth of the innermost element of this name.
    pub(super) fn innermost(&self, name: &str) -> Option<usize> {
        let wanted = hash(name);
        let depth = self.hashes.iter().rposition(|hash| *hash == wanted)?;
        let element = self.elements.get(depth)?;
        if element.tag == name {
            return Some(depth);
        }
        // Two names with one hash: compare the names themselves.
        let outer = self.elements.get(..depth)?;
        outer.iter().rposition(|element| element.tag == name)
    }

    /// The depth to close to before an element of this name opens.
    pub(super) fn closed_by(&self, name: &str) -> Option<usize> {
        let in_head = self.last().is_some_and(|top| top.tag == "head");
        if in_head && !is_head_content(name) {
            return self.len().checked_sub(1);
        }
        let index = ends(name)?;
        let (group, depths) = (GROUPS.get(index)?, self.groups.get(index)?);
        let depth = *depths.last()?;
        let element = self.elements.get(depth)?;
        group.ended.contains(&element.tag.as_ref()).then_some(depth)
    }
}

fn hash(name: &str) -> u32 {
    name.bytes().fold(2_166_136_261, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
    })
}
