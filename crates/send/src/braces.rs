//! Keeps a mail out of the template language of its provider.
//!
//! Some providers read `{{name}}` in the mails that they are given as a variable of theirs.
//! A mail of ours is complete, and the subject of a reply comes from a stranger. So no two
//! braces stay side by side.

use serde_json::Value;

use crate::mail::Mail;

/// Joins two letters without being seen.
const WORD_JOINER: char = '\u{2060}';

/// A plain text or a subject, in which a word joiner separates braces from each other and
/// from the signs of a template.
pub(crate) fn apart_in_text(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    let mut before = None;
    for letter in text.chars() {
        let is_tag = matches!(
            (before, letter),
            (Some('{'), '{' | '%' | '#') | (Some('}' | '%' | '#'), '}')
        );
        if is_tag {
            apart.push(WORD_JOINER);
        }
        apart.push(letter);
        before = Some(letter);
    }
    apart
}

/// The headers of ours that hold no tag of a template, as a JSON object. The ids of the mail
/// that is answered come from a stranger. An id cannot be written in another way, so a header
/// with a tag is left out.
pub(crate) fn headers_without_tags(mail: &Mail) -> Value {
    let headers = mail.own_headers().into_iter();
    let is_whole = |text: &str| apart_in_text(text) == text;
    headers.filter(|(_, text)| is_whole(text)).collect()
}

/// A text of HTML, in which the braces that begin a tag of a template are written as
/// numbers. Those that end one are harmless alone, and a style sheet may need them.
pub(crate) fn apart_in_html(html: &str) -> String {
    html.replace("{{", "&#123;&#123;").replace("{%", "&#123;%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_tags_of_templates_is_not_changed() {
        for text in ["", "a {b} c", "100 % {", "# 1 } {", "Größe"] {
            assert_eq!(apart_in_text(text), text);
            assert_eq!(apart_in_html(text), text);
        }
        assert_eq!(apart_in_html("@media x{a{b:c}}"), "@media x{a{b:c}}");
    }

    #[test]
    fn tags_of_templates_are_taken_apart() {
        for text in ["{{a}}", "{{{a}}}", "{% a %}", "{# a #}", "{{{{", "a{{"] {
            let apart = apart_in_text(text);
            for tag in ["{{", "}}", "{%", "%}", "{#", "#}"] {
                assert!(!apart.contains(tag), "{apart}");
            }
            assert_eq!(apart.replace(WORD_JOINER, ""), text);
        }
        for html in ["{{a}}", "{{{a}}}", "{% a %}", "{{{{"] {
            let apart = apart_in_html(html);
            assert!(!apart.contains("{{") && !apart.contains("{%"), "{apart}");
            assert_eq!(apart.replace("&#123;", "{"), html);
        }
    }
}
