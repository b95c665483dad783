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

/// The elements that end when an element of this name begins, and the elements beyond
/// which none ends.
fn ends(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    Some(match name {
        "td" | "th" => (&["td", "th"], &["table"]),
        "tr" | "tbody" | "thead" | "tfoot" => (&["tr"], &["table"]),
        "li" => (&["li"], &["ul", "ol"]),
        "option" => (&["option"], &["select"]),
        "dt" | "dd" => (&["dt", "dd"], &["dl"]),
        "body" => (&["head"], &[]),
        "p" | "div" | "table" | "ul" | "ol" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "hr"
        | "blockquote" | "pre" | "center" | "section" | "form" => (
            &["p"],
            &["table", "div", "td", "th", "li", "body", "button"],
        ),
        _ => return None,
    })
}

/// The depth to close to before an element of this name opens.
pub(super) fn closed_by(name: &str, open: &[Element<'_>]) -> Option<usize> {
    let in_head = open.last().is_some_and(|top| top.tag == "head");
    if in_head && !is_head_content(name) {
        return open.len().checked_sub(1);
    }
    let (ended, within) = ends(name)?;
    let is_one_of = |element: &Element<'_>, names: &[&str]| names.contains(&element.tag.as_ref());
    let at = open
        .iter()
        .rposition(|element| is_one_of(element, ended) || is_one_of(element, within))?;
    open.get(at)
        .filter(|element| is_one_of(element, ended))
        .map(|_| at)
}
