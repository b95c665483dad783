//! Elements that end without saying so.

use super::element::Element;

/// Elements without content, or whose content is read with their start.
const CHILDLESS: &[&str] = &[
    "br", "img", "hr", "input", "meta", "link", "area", "base", "col", "embed", "source", "track",
    "wbr", "param", "script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes",
];

/// What may stand in a head.
const HEAD_CONTENT: &[&str] = &[
    "title", "meta", "link", "style", "script", "base", "noscript", "template",
];

/// What ends an open paragraph.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "table",
    "ul",
    "ol",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "blockquote",
    "pre",
    "center",
    "section",
    "form",
];

/// What begins, what it ends, and what keeps it from looking further out.
const ENDS: &[(&[&str], &[&str], &[&str])] = &[
    (&["td", "th"], &["td", "th"], &["table"]),
    (&["tr", "tbody", "thead", "tfoot"], &["tr"], &["table"]),
    (&["li"], &["li"], &["ul", "ol"]),
    (&["option"], &["option"], &["select"]),
    (&["dt", "dd"], &["dt", "dd"], &["dl"]),
    (&["body"], &["head"], &[]),
    (
        BLOCKS,
        &["p"],
        &["table", "div", "td", "th", "li", "body", "button"],
    ),
];

pub(super) fn is_childless(name: &str) -> bool {
    is_one_of(name, CHILDLESS)
}

/// The depth to close to before an element of this name opens.
pub(super) fn closed_by(name: &str, open: &[Element<'_>]) -> Option<usize> {
    let in_head = open
        .last()
        .is_some_and(|top| top.tag.eq_ignore_ascii_case("head"));
    if in_head && !is_one_of(name, HEAD_CONTENT) {
        return open.len().checked_sub(1);
    }
    let (_, ends, within) = ENDS.iter().find(|(begins, _, _)| is_one_of(name, begins))?;
    let at = open
        .iter()
        .rposition(|element| is_one_of(element.tag, ends) || is_one_of(element.tag, within))?;
    open.get(at)
        .filter(|element| is_one_of(element.tag, ends))
        .map(|_| at)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}
