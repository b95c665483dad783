//! What a tag or a name means without a style sheet.

use crate::html::property::Display;

pub(super) fn heading_scale(tag: &str) -> f32 {
    match tag {
        "h1" => 2.0,
        "h2" => 1.5,
        "h3" | "big" => 1.17,
        "small" => 0.83,
        _ => 1.0,
    }
}

/// Whether the text of such an element is set differently: mostly bold, or in the font of a
/// typewriter.
pub(super) fn is_stressed(tag: &str) -> bool {
    matches!(
        tag,
        "b" | "strong" | "code" | "kbd" | "tt" | "samp" | "mark" | "em"
    )
}

/// `otp-code`, `verification_code`, `code`; not `qr-code` or `promo-code`.
pub(super) fn is_code_name(name: &str) -> bool {
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let is =
        |word: &str, names: &[&str]| names.iter().any(|other| word.eq_ignore_ascii_case(other));
    words().any(|word| {
        is(
            word,
            &[
                "otp",
                "code",
                "passcode",
                "verificationcode",
                "otpcode",
                "authcode",
            ],
        )
    }) && !words().any(|word| {
        is(
            word,
            &[
                "promo", "qr", "zip", "bar", "post", "discount", "coupon", "order", "source",
                "block", "snippet",
            ],
        )
    })
}

pub(super) fn is_never_shown(tag: &str) -> bool {
    matches!(
        tag,
        "head"
            | "script"
            | "style"
            | "title"
            | "template"
            | "noembed"
            | "noframes"
            | "iframe"
            | "svg"
            | "object"
            | "datalist"
            | "audio"
            | "video"
            | "canvas"
            | "progress"
            | "meter"
            | "rp"
    )
}

pub(super) fn default_display(tag: &str) -> Display {
    match tag {
        "td" | "th" => Display::Cell,
        "tr" => Display::Row,
        "p" | "div" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "li" | "ul" | "ol" | "dl"
        | "dt" | "dd" | "table" | "tbody" | "thead" | "tfoot" | "caption" | "pre"
        | "blockquote" | "section" | "article" | "header" | "footer" | "main" | "nav" | "aside"
        | "address" | "center" | "form" | "fieldset" | "figure" | "figcaption" | "hr" | "body"
        | "html" | "details" | "summary" | "option" => Display::Block,
        _ => Display::Inline,
    }
}
